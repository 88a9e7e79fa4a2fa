"""CuPy as the array kernels see it: functions of every element lay their results out in memory as
their operands are, as NumPy's do, and functions of matrices that fail raise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from types import ModuleType
from typing import Any

import cupy
import cupyx
import ml_dtypes
import numpy as np

from dovetail_aten.typing import Array

from ..waiting import waiting, waits
from .along_a_dimension import take_along_axis

Function = Callable[..., Any]


def kernel_namespace() -> ModuleType:
    """Return CuPy's functions, of which some are changed."""
    made = ModuleType("cupy")
    made.__dict__.update(vars(cupy))
    for name, value in vars(cupy).items():
        if isinstance(value, cupy.ufunc):
            setattr(made, name, like_operands(value))
    made.where = _where  # type: ignore[attr-defined]
    made.nonzero = waits("nonzero")(cupy.nonzero)  # type: ignore[attr-defined]
    made.take_along_axis = take_along_axis  # type: ignore[attr-defined]
    made.linalg = _raising(cupy.linalg)  # type: ignore[attr-defined]
    return made


def like_operands(function: Function) -> Function:
    """Return a function of every element whose results have their dimensions in the order in
    memory that the first operand of their shape has; `function` lays them out in C order.
    """

    @wraps(function, updated=())
    def run(*args: Any, **kwargs: Any) -> Any:
        for each in args:
            if each.__class__ is cupy.ndarray and not each._c_contiguous:
                order = None if kwargs.get("out") is not None else _order_in_memory(args)
                return (
                    function(*args, **kwargs)
                    if order is None
                    else _in_order(function, order, args, kwargs)
                )
        return function(*args, **kwargs)

    return run


_where_in_order = like_operands(cupy.where)
_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def _where(condition: object, *choices: Any) -> Any:
    if not choices:
        with waiting("where(condition)"):
            return cupy.where(condition)
    if all([getattr(each, "dtype", None) == _BFLOAT16 for each in choices]):
        # CuPy would make float32 of it.
        bits = [each.view(np.int16) for each in choices]
        return _where_in_order(condition, *bits).view(_BFLOAT16)
    return _where_in_order(condition, *choices)


def _order_in_memory(operands: tuple[object, ...]) -> list[int] | None:
    """Return the dimensions from the slowest to the fastest; None where that is C order.

    Two dimensions are compared by the first operand that is expanded along neither. They are sorted
    by exchanges from the last one on, as PyTorch does: some pairs cannot be compared.
    """
    arrays = [each for each in operands if isinstance(each, cupy.ndarray)]
    ndim = max(each.ndim for each in arrays)
    if ndim < 2 or any([0 in each.shape for each in arrays]):
        return None
    steps = [_steps(each, ndim) for each in arrays]
    sizes = [max(column) for column in zip(*(_sizes(each, ndim) for each in arrays), strict=True)]
    order = list(reversed(range(ndim)))
    for place in range(1, ndim):
        own = place
        for other in range(place - 1, -1, -1):
            compared = _compared(order[other], order[own], steps, sizes)
            if compared < 0:
                break
            if compared > 0:
                order[other], order[own] = order[own], order[other]
                own = other
    order.reverse()
    return None if order == list(range(ndim)) else order


def _sizes(array: Array, ndim: int) -> tuple[int, ...]:
    return (*(1,) * (ndim - array.ndim), *array.shape)


def _steps(array: Any, ndim: int) -> tuple[int, ...]:
    """Return the strides of an operand; 0 where it is expanded."""
    own = (step if size > 1 else 0 for step, size in zip(array.strides, array.shape, strict=True))
    return (*(0,) * (ndim - array.ndim), *own)


def _compared(inner: int, outer: int, steps: list[tuple[int, ...]], sizes: list[int]) -> int:
    """Return 1 if `outer` lies closer together in memory than `inner`, -1 if it does not, 0 if that
    is not told.
    """
    for each in steps:
        if each[inner] == 0 or each[outer] == 0:
            continue
        if each[inner] != each[outer]:
            return 1 if each[inner] > each[outer] else -1
        if sizes[inner] > sizes[outer]:
            return 1
    return 0


def _in_order(
    function: Function, order: list[int], args: tuple[object, ...], kwargs: Mapping[str, object]
) -> Any:
    back = sorted(range(len(order)), key=order.__getitem__)
    results = function(*[_turned(each, order) for each in args], **kwargs)
    if isinstance(results, tuple):
        return tuple(each.transpose(back) for each in results)
    return results.transpose(back)


def _turned(operand: Any, order: list[int]) -> Any:
    if not isinstance(operand, cupy.ndarray) or not operand.ndim:
        return operand
    whole = operand[(None,) * (len(order) - operand.ndim)]
    return whole.transpose(order)


def _raising(linalg: ModuleType) -> ModuleType:
    """Return the functions of matrices such that one that fails raises LinAlgError; CuPy's leave
    NaN and go on.
    """

    def raising(function: Function) -> Function:
        @wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            with cupyx.errstate(linalg="raise"):
                return function(*args, **kwargs)

        return run

    made = ModuleType("cupy.linalg")
    for name, value in vars(linalg).items():
        is_public_function = callable(value) and not isinstance(value, type) and name[0] != "_"
        setattr(made, name, raising(value) if is_public_function else value)
    made.solve = raising(_solve)  # type: ignore[attr-defined]
    return made


def _solve(a: Array, b: Array) -> Any:
    """Return the solutions of systems whose batches broadcast; CuPy's function wants equal ones."""
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    matrices = cupy.broadcast_to(a, batch + a.shape[-2:])
    return cupy.linalg.solve(matrices, cupy.broadcast_to(b, batch + b.shape[-2:]))
