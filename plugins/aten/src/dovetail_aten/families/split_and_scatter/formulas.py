"""Derivatives of pieces and of parts written into a copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...derivative_helpers.strided_places import Geometry, Part, strided_places
from ...kernel_support.geometry.memory_layout import contiguous_strides
from ...kernel_support.geometry.view_bounds import shares_places
from ...typing import Namespace, Tensor, TensorLike

TENSORS_ONLY = frozenset(
    {"as_strided_scatter_backward", "as_strided_scatter_jvp", "as_strided_scatter_src_backward"}
)
"""Functions that work on tensors only: formulas that call them get no body over arrays."""


def narrow_backward(
    k: Namespace, grad: TensorLike, sizes: Sequence[int], dim: int, start: int, length: int
) -> Any:
    """Return the gradient of a narrowed copy: zeros with `grad` where it was taken."""
    start += sizes[dim] if start < 0 else 0
    return k.slice_backward(grad, sizes, dim, start, start + length, 1)


def block_diag_backward(
    k: Namespace, grad: TensorLike, sizes: Sequence[Sequence[int]]
) -> list[Any]:
    """Return the gradients of block_diag: the blocks of `grad`."""
    blocks, row, column = [], 0, 0
    for shape in sizes:
        rows, columns = (1, 1, *shape)[-2:]
        block = k.slice(grad, 0, row, row + rows, 1)
        block = k.slice(block, 1, column, column + columns, 1)
        blocks.append(k.reshape(block, tuple(shape)))
        row, column = row + rows, column + columns
    return blocks


def as_strided_scatter_jvp(
    k: Namespace, tangent: Tensor, written: object, whole: Geometry, part: Part
) -> Any:
    """Return the tangent of the copy: `tangent`, but `written` at the places of memory that are
    written.
    """
    sizes, size = whole[0], part[0]
    if 0 in sizes or 0 in size:
        return k.clone(tangent)
    own, taken, length = _places(k, tangent, whole, part)
    memory = k.index_put(k.new_zeros(tangent, (length,)), [own], k.reshape(tangent, (-1,)))
    memory = k.index_put(memory, [taken], k.reshape(written, (-1,)))
    return k.reshape(k.index_select(memory, 0, own), sizes)


def as_strided_scatter_backward(k: Namespace, grad: Tensor, whole: Geometry, part: Part) -> Any:
    """Return the gradient of the tensor: `grad`, but 0 at the places of memory that are written."""
    sizes, size = whole[0], part[0]
    if 0 in sizes or 0 in size:
        return grad
    own, written, length = _places(k, grad, whole, part)
    kept = k.index_put(k.new_ones(grad, (length,)), [written], k.new_zeros(grad, written.shape))
    return k.mul(grad, k.reshape(k.index_select(kept, 0, own), sizes))


def as_strided_scatter_src_backward(k: Namespace, grad: Tensor, whole: Geometry, part: Part) -> Any:
    """Return the gradient of what is written: `grad` at the places of memory that it goes to."""
    sizes, size = whole[0], part[0]
    if 0 in sizes or 0 in size:
        return k.new_zeros(grad, size)
    own, written, length = _places(k, grad, whole, part)
    memory = k.index_put(k.new_zeros(grad, (length,)), [own], k.reshape(grad, (-1,)))
    return k.reshape(k.index_select(memory, 0, written), size)


def _places(k: Namespace, like: Tensor, whole: Geometry, part: Part) -> tuple[Any, Any, int]:
    """Return `strided_places` in what is written to: a contiguous copy if elements share places."""
    if shares_places(*whole[:2]):
        whole = whole[0], contiguous_strides(whole[0]), 0
    return strided_places(k, like, whole, part)
