"""Derivatives of views, of copies in another shape, and of conversions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_kernel import DeviceLike

from ...derivative_helpers.strided_places import Geometry, Part, strided_places
from ...typing import Namespace, TensorLike

TENSORS_ONLY = frozenset(
    {"as_strided_backward", "as_strided_jvp", "copy_to_device", "to_copy_backward"}
)
"""Functions that work on tensors only: formulas that call them get no body over arrays."""


def permute_backwards(k: Namespace, grad: TensorLike, dims: Sequence[int]) -> Any:
    """Return the gradient of permute: `grad` with the dimensions in their former order."""
    back = [0] * len(dims)
    for position, dim in enumerate(dims):
        back[dim % len(dims)] = position
    return k.permute(grad, back)


def slice_backward_wrapper(
    k: Any, grad: Any, sizes: Sequence[int], dim: int, start: int | None, end: int | None, step: int
) -> Any:
    """Return the gradient of a slice: zeros with `grad` in the slice."""
    start, end, step = slice(start, end, step).indices(sizes[dim])
    return k.slice_backward(grad, sizes, dim, start, max(start, end), step)


def split_backward(
    k: Namespace, grads: Sequence[TensorLike], split_size: int, dim: int, sizes: Sequence[int]
) -> Any:
    """Return the gradient of split: the gradients of the pieces side by side."""
    total = sizes[dim]
    lengths = (
        [min(split_size, total - start) for start in range(0, total, split_size)]
        if split_size
        else [total]
    )
    return split_with_sizes_backward(k, grads, lengths or [0], dim, sizes)


def split_with_sizes_backward(
    k: Namespace, grads: Sequence[Any], lengths: Sequence[int], dim: int, sizes: Sequence[int]
) -> Any:
    """Return the gradient of split_with_sizes; pieces without gradient count as zero."""
    known = next(iter([grad for grad in grads if grad is not None]))
    dim %= len(sizes)

    def piece(grad: TensorLike | None, length: int) -> Any:
        if grad is not None:
            return grad
        return k.new_zeros(known, [length if d == dim else size for d, size in enumerate(sizes)])

    return k.cat([piece(grad, length) for grad, length in zip(grads, lengths, strict=True)], dim)


def unbind_backward(k: Any, grads: Sequence[Any], dim: int, sizes: Sequence[int]) -> Any:
    """Return the gradient of unbind; results without gradient count as zero."""
    known = next(iter([grad for grad in grads if grad is not None]))
    return k.stack([k.zeros_like(known) if grad is None else grad for grad in grads], dim)


def cat_tensors_backward(
    k: Namespace, grad: TensorLike, sizes: Sequence[Sequence[int]], dim: int
) -> list[Any]:
    """Return the gradients of cat: the pieces of `grad`; an empty 1-d tensor has none."""
    dim = dim % grad.ndim
    pieces, start = [], 0
    for shape in sizes:
        if len(shape) == 1 and shape[0] == 0 and grad.ndim != 1:
            pieces.append(k.new_zeros(grad, shape))
            continue
        pieces.append(k.slice(grad, dim, start, start + shape[dim], 1))
        start += shape[dim]
    return pieces


def repeat_backward(
    k: Namespace, grad: TensorLike, repeats: Sequence[int], sizes: Sequence[int]
) -> Any:
    """Return the gradient of repeat: the sum over the repetitions."""
    if 0 in repeats:
        return k.new_zeros(grad, sizes)
    padded = [1] * (len(repeats) - len(sizes)) + list(sizes)
    split = [n for repeat, size in zip(repeats, padded, strict=True) for n in (repeat, size)]
    if not split:
        return grad
    return k.reshape(k.sum(k.reshape(grad, split), tuple(range(0, len(split), 2))), sizes)


def roll_backward(
    k: Namespace, grad: TensorLike, shifts: Sequence[int], dims: Sequence[int]
) -> Any:
    """Return the gradient of roll: `grad` rolled back."""
    return k.roll(grad, [-shift for shift in shifts], dims)


def constant_pad_nd_backward(k: Namespace, grad: TensorLike, pad: Sequence[int]) -> Any:
    """Return the gradient of constant padding: `grad` without the padding."""
    return k.constant_pad_nd(grad, [-amount for amount in pad], 0)


def as_strided_jvp(
    k: Namespace, tangent: Any, own: int, own_strides: Sequence[int], whole: Geometry, part: Part
) -> Any:
    """Return the tangent of as_strided, a view of the given one, which begins at `own` in its
    memory where the primal begins at `offset`. Raises RuntimeError for places before the first
    element of all that has a tangent, and for a primal whose elements share places where those of
    the tangent do not.
    """
    (sizes, strides, offset), (size, stride, storage_offset) = whole, part
    steps = zip(sizes, strides, own_strides, strict=True)
    if any([length > 1 and step != own_step for length, step, own_step in steps]):
        raise RuntimeError(
            "as_strided: elements of the tensor share places in memory, and those of its tangent "
            "do not, so that no place belongs to both. clone() the tensor first."
        )
    begin = None if storage_offset is None else storage_offset - offset + own
    if begin is not None and begin < 0:
        raise RuntimeError(
            f"as_strided: storage_offset {storage_offset} lies before the memory that has a "
            f"tangent, which begins at {offset - own}. Give one from there on, or make the tensor "
            "dual that begins where its memory does."
        )
    return k.as_strided(tangent, size, stride, begin)


def as_strided_backward(k: Namespace, grad: Any, whole: Geometry, part: Part) -> Any:
    """Return the gradient of as_strided: the sum for every place of the input's memory, divided
    among the elements at that place.
    """
    sizes = whole[0]
    if 0 in sizes or 0 in part[0]:
        return k.new_zeros(grad, sizes)
    own, taken, length = strided_places(k, grad, whole, part)
    flat = k.index_add(k.new_zeros(grad, (length,)), 0, taken, k.reshape(grad, (-1,)))
    shared = k.index_add(k.new_zeros(grad, (length,)), 0, own, k.new_ones(grad, own.shape))
    return k.reshape(k.div(k.index_select(flat, 0, own), k.index_select(shared, 0, own)), sizes)


def to_copy_backward(k: Namespace, grad: TensorLike, dtype: Any, device: DeviceLike) -> Any:
    """Return the gradient of a conversion: `grad` converted back, its real part to a real dtype."""
    if "complex" in str(grad.dtype) and "complex" not in str(dtype):
        grad = k.select(k.view_as_real(grad), -1, 0)
    return k.to(grad, device, dtype)


def copy_to_device(k: Namespace, grad: Any, device: DeviceLike) -> Any:
    """Return `grad` on `device`."""
    return grad if grad.device == device else k.to(grad, device, grad.dtype)
