"""The table that a family of rules fills, and the small pieces that rules are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail_dispatcher.array_errors import broadcast_error
from dovetail_kernel import dtype, get_default_dtype

from ..memory_layout import contiguous_strides, dense_strides_like
from ..meta_array import MetaArray

Rule = Callable[..., Any]


class Rules:
    """Rules by operator name; calling it with names gives the decorator that adds a rule."""

    def __init__(self) -> None:
        self.rules: dict[str, Rule] = {}

    def __call__(self, *names: str) -> Callable[[Rule], Rule]:
        """Return a decorator that makes its function the rule of the operators `names`."""

        def add(fn: Rule) -> Rule:
            self.rules.update(dict.fromkeys(names, fn))
            return fn

        return add


def like(array: MetaArray, shape: Sequence[int] | None = None, dtype: dtype | None = None) -> MetaArray:
    """Return a new contiguous array: of the shape and dtype of `array` unless told otherwise."""
    return MetaArray(array.shape if shape is None else shape, dtype or array.dtype)


def dense_like(array: MetaArray, dtype: dtype | None = None) -> MetaArray:
    """Return a new array of the shape of `array`, its dimensions in the same order in memory."""
    return MetaArray(array.shape, dtype or array.dtype, dense_strides_like(array.shape, array.element_strides))


def broadcast_shapes(shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Return the common shape of operands.

    Raises
    ------
    RuntimeError
        If there is none, naming the first two that do not fit.
    """
    ndim = max(map(len, shapes), default=0)
    result = [1] * ndim
    for shape in shapes:
        for back in range(1, len(shape) + 1):
            if shape[-back] != 1:
                if result[-back] not in (1, shape[-back]):
                    raise broadcast_error(shapes) or RuntimeError(f"shapes {list(shapes)} do not broadcast")
                result[-back] = shape[-back]
    return tuple(result)


def elementwise(arrays: Sequence[MetaArray], dtype: dtype) -> MetaArray:
    """Return the result of an elementwise operator: broadcast, in the memory order of its operands."""
    shape = broadcast_shapes([array.shape for array in arrays])
    if all(array.shape == shape and array.element_strides == contiguous_strides(shape) for array in arrays):
        return MetaArray(shape, dtype)
    order = _memory_order(shape, [_broadcast_strides(array, len(shape)) for array in arrays])
    strides = [1] * len(shape)
    step = 1
    for dim in order:
        strides[dim] = step
        step *= max(shape[dim], 1)
    return MetaArray(shape, dtype, strides)


def float_of(own: dtype) -> dtype:
    """Return the floating-point dtype that `own` computes in: itself, or the default for integers and bools."""
    return own if own.category >= 2 else get_default_dtype()


def _broadcast_strides(array: MetaArray, ndim: int) -> list[int]:
    own = [0 if size == 1 else stride for size, stride in zip(array.shape, array.element_strides, strict=True)]
    return [0] * (ndim - len(own)) + own


def _memory_order(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> list[int]:
    """Return the dimensions by their strides in the operands, the smallest first; ties keep C order."""
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
    """Return 1 if dimension `outer` has the smaller stride, -1 if `inner` has, 0 if no operand can tell."""
    for own in strides:
        a, b = own[inner], own[outer]
        if not a or not b:
            continue
        if a != b:
            return 1 if a > b else -1
        if shape[inner] > shape[outer]:
            return 1
    return 0
