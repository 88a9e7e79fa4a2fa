"""Strides: which order of dimensions in memory they mean, and which ones a new tensor gets."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dovetail_kernel import (
    MemoryFormat,
    TensorBase,
    channels_last,
    channels_last_3d,
    contiguous_format,
    preserve_format,
)

Sizes = Sequence[int]
StrideRule = Callable[[Sizes, Sizes, Sizes], tuple[int, ...] | None]
"""Returns the strides of a view, in elements, by the shape and strides of what it is a view of, and
by its own shape; None: any.
"""


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides, in elements, of a C-contiguous tensor; a dimension of size 0 counts
    as 1.
    """
    return strides_in_order(shape, range(len(shape)))


def reshaped_strides(
    shape: Sequence[int], strides: Sequence[int], wanted: Sequence[int]
) -> tuple[int, ...] | None:
    """Return the strides of a view of shape `wanted` with as many elements; None if there is no
    such view.

    Dimensions of the old shape that lie one after another in memory form a block; every block has
    to be split into whole dimensions of the new one.
    """
    if 0 in shape:
        return tuple(strides) if tuple(shape) == tuple(wanted) else contiguous_strides(wanted)
    result = [0] * len(wanted)
    place = len(wanted) - 1
    step = strides[-1] if strides else 1
    elements = room = 1
    for dim in reversed(range(len(shape))):
        elements *= shape[dim]
        if dim and (shape[dim - 1] == 1 or strides[dim - 1] == elements * step):
            continue
        while place >= 0 and (room < elements or wanted[place] == 1):
            result[place] = room * step
            room *= wanted[place]
            place -= 1
        if room != elements:
            return None
        if dim:
            step = strides[dim - 1]
            elements = room = 1
    while place >= 0:
        result[place] = room * step
        place -= 1
    return tuple(result)


def expanded_strides(
    shape: Sequence[int], strides: Sequence[int], wanted: Sequence[int]
) -> tuple[int, ...]:
    """Return the strides of a view broadcast to `wanted`: a new dimension of size 1 steps over the
    dimensions behind it.
    """
    made, added, over = [0] * len(wanted), len(wanted) - len(shape), 1
    for dim in reversed(range(len(wanted))):
        own = shape[dim - added] if dim >= added else 1
        if wanted[dim] == own:
            made[dim] = strides[dim - added] if dim >= added else over
        over = made[dim] * wanted[dim]
    return tuple(made)


def unsqueezed_strides(
    place: int, shape: Sequence[int], strides: Sequence[int], wanted: Sequence[int]
) -> tuple[int, ...]:
    """Return the strides of a view with a new dimension at `place`."""
    over = shape[place] * strides[place] if place < len(shape) else 1
    return (*strides[:place], over, *strides[place:])


def strides_in_order(shape: Sequence[int], order: Sequence[int]) -> tuple[int, ...]:
    """Return the dense strides of a tensor whose dimensions lie in memory in `order`, outermost
    first.
    """
    strides = [1] * len(shape)
    step = 1
    for dim in reversed(order):
        strides[dim] = step
        step *= max(shape[dim], 1)
    return tuple(strides)


def check_physical_layout(size: Sequence[int], physical_layout: Sequence[int]) -> None:
    """Raise an error for an order of dimensions in memory that does not name each of them once.
    Raises RuntimeError with PyTorch's message.
    """
    ndim = len(size)
    if len(physical_layout) != ndim:
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. "
            f"len(size) = {ndim} is not equal to len(physical_layout) = {len(physical_layout)}"
        )
    for place, dim in enumerate(physical_layout):
        if not 0 <= dim < ndim:
            raise RuntimeError(
                f"Dimension out of range (expected to be between 0 and {ndim - 1}, but got {dim} "
                f"at index {place}). Count it from the front."
            )
    if len(set(physical_layout)) < ndim:
        raise RuntimeError("Duplicate dim not allowed: name every dimension once.")


def has_order(shape: Sequence[int], strides: Sequence[int], order: Sequence[int]) -> bool:
    """Return whether the elements lie densely in memory, dimensions in `order`; sizes of 1 are of
    no account.
    """
    if 0 in shape:
        return True
    expected = 1
    for dim in reversed(order):
        if shape[dim] != 1:
            if strides[dim] != expected:
                return False
            expected *= shape[dim]
    return True


def has_channels_last(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Return whether images or volumes lie in memory with the channels last, also with gaps.

    PyTorch's rule for tensors that have several orders: C order where only samples are told apart.
    """
    if len(shape) not in (4, 5) or 0 in shape or not strides[1]:
        return False
    least = 0
    for dim in (1, *reversed(range(2, len(shape))), 0):
        if strides[dim] < least or (dim == 0 and least == strides[1]):
            return False
        least = strides[dim] * shape[dim]
    return True


def suggested_format(tensor: TensorBase) -> MemoryFormat:
    """Return the memory format that PyTorch reads from the strides of `tensor`: contiguous_format
    where the channels are not last, even if there are gaps.
    """
    shape = tensor.array.shape
    if not has_channels_last(shape, tensor.stride()):
        return contiguous_format
    return channels_last if len(shape) == 4 else channels_last_3d


def channels_last_order(ndim: int) -> tuple[int, ...]:
    """Return the order of dimensions in memory, of which that of the channels is last."""
    return (0, *range(2, ndim), 1)


def order_of(memory_format: MemoryFormat | None, ndim: int) -> Sequence[int] | None:
    """Return the order of dimensions that a memory format means for `ndim` dimensions, None if it
    means none.
    """
    if memory_format is channels_last:
        return channels_last_order(ndim) if ndim == 4 else None
    if memory_format is channels_last_3d:
        return channels_last_order(ndim) if ndim == 5 else None
    return range(ndim)


def required_order(memory_format: MemoryFormat | None, ndim: int) -> Sequence[int]:
    """Return the order of dimensions that a memory format means for `ndim` dimensions. Raises
    RuntimeError if it is a format for another number of dimensions, or `preserve_format`, which has
    no order.
    """
    if memory_format is preserve_format:
        raise RuntimeError(
            "unsupported memory format Preserve: there is no order to keep. Ask for "
            "contiguous_format."
        )
    order = order_of(memory_format, ndim)
    if order is None:
        is_flat = memory_format is channels_last
        name, rank = ("channels_last", 4) if is_flat else ("channels_last_3d", 5)
        raise RuntimeError(
            f"required rank {rank} tensor to use {name} format, but this one has {ndim} "
            "dimensions. Leave memory_format out."
        )
    return order


def inverse(order: Sequence[int]) -> tuple[int, ...]:
    """Return the order that undoes another one."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))


def check_memory_format(function: str, memory_format: object) -> None:
    """Raise TypeError for what is neither a memory format nor None."""
    if memory_format is not None and not isinstance(memory_format, MemoryFormat):
        raise TypeError(
            f"{function}(): argument 'memory_format' must be dovetail.memory_format, not "
            f"{type(memory_format).__name__}. Give dovetail.contiguous_format or channels_last."
        )


def is_contiguous(
    tensor: TensorBase, memory_format: MemoryFormat | None = contiguous_format
) -> bool:
    """Return whether the elements of `tensor` lie in memory in the order that `memory_format`
    means. Raises TypeError if `memory_format` is not a memory format, and RuntimeError for
    `preserve_format`, which has no order.
    """
    check_memory_format("is_contiguous", memory_format)
    if memory_format is preserve_format:
        raise RuntimeError(
            "preserve memory format is unsupported by the contiguous operator. Ask for "
            "contiguous_format."
        )
    shape = tensor.array.shape
    order = order_of(memory_format, len(shape))
    return order is not None and has_order(shape, tensor.stride(), order)
