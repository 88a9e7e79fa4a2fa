"""Where the elements of an elementwise result lie: the common shape of its operands, and their
order in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from dovetail_dispatcher.calls import broadcast_error, broadcast_shape

from .memory_layout import contiguous_strides, strides_in_order

Geometry = tuple[Sequence[int], Sequence[int]]
"""Sizes, and strides in elements."""


def broadcast_shapes(shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Return the common shape of operands.

    Raises
    ------
    RuntimeError
        If there is none, naming the first two that do not fit.
    """
    if len(shapes) == 2 and shapes[0] == shapes[1]:
        return tuple(shapes[0])
    shape = broadcast_shape(shapes) if shapes else ()
    if shape is None:
        raise broadcast_error(shapes) or RuntimeError(f"shapes {list(shapes)} do not broadcast")
    return shape


def raise_misfit(error: TypeError | ValueError, *operands: Any) -> NoReturn:
    """Raise a RuntimeError for the shapes of `operands`, which the array library refused: JAX by a
    TypeError, others by a ValueError. Another TypeError is raised as it is.
    """
    shapes = [tuple(each.shape) for each in operands if hasattr(each, "shape")]
    mismatch = broadcast_error(shapes)
    if mismatch is None and isinstance(error, TypeError):
        raise error
    if mismatch is not None:
        raise mismatch from None  # it says all that the array library said
    raise RuntimeError(
        f"shapes {[list(shape) for shape in shapes]} do not fit together: {error}. Give tensors "
        "whose shapes do."
    ) from error


def elementwise_layout(operands: Sequence[Geometry]) -> Geometry:
    """Return the layout of the result of an elementwise operator: broadcast, in the memory order of
    its operands. The first of these that steps along two dimensions decides which one is the inner
    one, as in PyTorch. Raises RuntimeError if the shapes do not broadcast.
    """
    shape, order = elementwise_order(operands)
    return shape, strides_in_order(shape, order)


def elementwise_order(operands: Sequence[Geometry]) -> tuple[tuple[int, ...], Sequence[int]]:
    """Return the shape of the result of an elementwise operator, and its dimensions from the
    outermost in memory to the innermost. Raises RuntimeError if the shapes do not broadcast.
    """
    shape = broadcast_shapes([sizes for sizes, _ in operands])
    row_major = contiguous_strides(shape)
    if all([sizes == shape and strides == row_major for sizes, strides in operands]):
        return shape, range(len(shape))
    inner_first = _memory_order(shape, [_broadcast_strides(*each, shape) for each in operands])
    return shape, inner_first[::-1]


def dense_strides_like(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a copy that keeps the order of dimensions: what ``preserve_format``
    gives. Those that overlap or leave holes give the strides of an elementwise result.
    """
    return strides_in_order(shape, elementwise_order([(tuple(shape), tuple(strides))])[1])


def indexed_order(
    source: Geometry, indices: Mapping[int, Geometry]
) -> tuple[tuple[int, ...], Sequence[int]]:
    """Return the shape of the elements of `source` at `indices`, and its dimensions from the
    outermost in memory to the innermost. PyTorch lays them out as an elementwise result of
    `source`, its indexed dimensions replaced, and of the indices.

    Parameters
    ----------
    source
        The indexed tensor.
    indices
        Integer indices by the dimension that they index, at least one. The dimensions of the
        result that they give stand in place of the indexed ones if these are neighbours, else
        first.

    Raises
    ------
    RuntimeError
        If the indices do not broadcast.
    """
    shape, strides = source
    common = broadcast_shapes([sizes for sizes, _ in indices.values()])
    dims = sorted(indices)
    first = dims[0] if dims[-1] - dims[0] + 1 == len(dims) else 0
    kept = [dim for dim in range(len(shape)) if dim not in indices]
    before, after = kept[:first], kept[first:]
    own = (
        [*(shape[dim] for dim in before), *common, *(shape[dim] for dim in after)],
        [*(strides[dim] for dim in before), *[0] * len(common), *(strides[dim] for dim in after)],
    )

    def among_all(sizes: Sequence[int], steps: Sequence[int]) -> Geometry:
        """Return the geometry of an index that is viewed with the other dimensions, of one element
        each: they have its own outermost and innermost steps, as in any view.
        """
        missing = len(common) - len(sizes)
        outer = sizes[0] * steps[0] if sizes and not missing else 0
        ones = [1] * len(before), [1] * missing, [1] * len(after)
        leading, trailing = [outer] * len(before), [steps[-1] if sizes else 1] * len(after)
        return (
            [*ones[0], *ones[1], *sizes, *ones[2]],
            [*leading, *[0] * missing, *steps, *trailing],
        )

    return elementwise_order([own, *[among_all(*each) for each in indices.values()]])


def _broadcast_strides(
    sizes: Sequence[int], strides: Sequence[int], shape: Sequence[int]
) -> list[int]:
    """Return the strides of an operand in the dimensions of the result. Those of dimensions of one
    element count, too, unless the dimension is expanded.
    """
    missing = len(shape) - len(sizes)
    own = zip(sizes, strides, shape[missing:], strict=True)
    return [0] * missing + [0 if size != wanted else stride for size, stride, wanted in own]


def _memory_order(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> list[int]:
    """Return the dimensions by their strides in the operands, the smallest first; ties keep C
    order.
    """
    order = list(reversed(range(len(shape))))
    for i in range(1, len(order)):
        moving = i
        for j in reversed(range(i)):
            comparison = _compare(order[j], order[moving], shape, strides)
            if comparison > 0:
                order[j], order[moving] = order[moving], order[j]
                moving = j
            elif comparison < 0:
                break
    return order


def _compare(inner: int, outer: int, shape: Sequence[int], strides: Sequence[Sequence[int]]) -> int:
    """Return 1 if dimension `outer` has the smaller stride, -1 if `inner` has, 0 if no operand can
    tell.
    """
    for own in strides:
        a, b = abs(own[inner]), abs(own[outer])
        if not a or not b:
            continue
        if a != b:
            return 1 if a > b else -1
        if shape[inner] > shape[outer]:
            return 1
    return 0
