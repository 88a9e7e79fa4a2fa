"""Arrays as the loops take them: lines and rows in C order, all of one dtype."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final, Literal

import numpy as np

from ..machine.threads import pays, split

SINGLE: Final = np.dtype(np.float32)
DOUBLE: Final = np.dtype(np.float64)
LONG: Final = np.dtype(np.int64)
_IN_ORDER: Final = 0x101
"""Of the number of an array's flags: in C order, and aligned."""
Array = np.ndarray[Any, Any]


@cache
def loops_for(dtype: Any) -> Any:
    """Return the loops over numbers of a dtype, float32 or float64; the first time Numba is
    imported.
    """
    from ..loops.library import library

    return library(dtype)


def is_dense(array: Any, dtype: Any) -> bool:
    """Return whether an array is of `dtype` and lies in C order, without gaps."""
    return bool(array.flags.num & _IN_ORDER == _IN_ORDER and array.dtype == dtype)


def is_float(array: Any) -> bool:
    """Return whether there are loops for the dtype of an array."""
    return array.dtype in (SINGLE, DOUBLE)


def are_dense(dtype: Any, *arrays: Any) -> bool:
    """Return whether all arrays that are not None are dense, and of `dtype`."""
    return all([each is None or is_dense(each, dtype) for each in arrays])


def elementwise(
    name: str,
    arrays: Sequence[Any],
    numbers: Sequence[Any] = (),
    cost: float = 1.0,
    out: Any = None,
) -> Any:
    """Return what a loop makes of the elements of arrays that are laid out alike.

    Parameters
    ----------
    name
        The loop.
    arrays
        Arrays of one shape and dtype, in C or Fortran order.
    numbers
        Further arguments of the loop.
    cost
        Nanoseconds for each element, roughly.
    out
        Where the result is written, which may be one of the arrays; None: into a new one.

    Returns
    -------
    Array or None
        None if the arrays are not so.
    """
    first = arrays[0]
    dtype, shape = first.dtype, first.shape
    if dtype != SINGLE and dtype != DOUBLE:
        return None
    for each in arrays:
        if each.dtype != dtype or each.shape != shape:
            return None
        if each.flags.num & _IN_ORDER != _IN_ORDER:
            return _of_other_orders(name, arrays, numbers, cost, out)
    if out is not None:
        return _into(name, arrays, numbers, cost, out)
    out = np.empty(shape, dtype)
    loop = getattr(loops_for(dtype), name)
    if len(shape) == 1:
        run_over_lines(loop, out, arrays, numbers, cost)
    else:
        run_over_lines(loop, out.ravel(), [each.ravel() for each in arrays], numbers, cost)
    return out


def _into(
    name: str, arrays: Sequence[Array], numbers: Sequence[Any], cost: float, out: Array
) -> Any:
    """Write into `out`, which may be one of the arrays; all are in C order."""
    first = arrays[0]
    suits = out.dtype == first.dtype and out.shape == first.shape and out.flags.carray
    return _run_into(name, arrays, numbers, cost, out, "C") if suits else None


def _of_other_orders(
    name: str, arrays: Sequence[Array], numbers: Sequence[Any], cost: float, out: Any
) -> Any:
    """Do the work of `elementwise` where an array is not in C order."""
    first = arrays[0]
    dtype, shape = first.dtype, first.shape
    given = [_laid_out(each) for each in (arrays if out is None else (*arrays, out))]
    if any([each.dtype != dtype or each.shape != shape for each in given]):
        return None
    flags = [each.flags for each in given]
    if not all([each.aligned for each in flags]):
        return None
    order: Literal["C", "F"]
    if all([each.c_contiguous for each in flags]):
        order = "C"
    elif all([each.f_contiguous for each in flags]):
        order = "F"
    else:
        return None
    if out is None:
        out = np.empty(shape, dtype, order)
    elif not out.flags.writeable or out is not given.pop():
        return None
    return _run_into(name, given, numbers, cost, out, order)


def _run_into(
    name: str,
    arrays: Sequence[Array],
    numbers: Sequence[Any],
    cost: float,
    out: Array,
    order: Literal["C", "F"],
) -> Array:
    lines = [each.reshape(-1, order=order) for each in arrays]
    target = out.reshape(-1, order=order)
    loops = loops_for(out.dtype)
    if lines[0].ctypes.data == target.ctypes.data:
        into = getattr(loops, f"{name}_into_first", None)
        if into is not None:
            run_over_lines(into, target, lines[1:], numbers, cost)
            return out
    run_over_lines(getattr(loops, name), target, lines, numbers, cost)
    return out


def _laid_out(array: Array) -> Array:
    """Return an array of one number, many times, with all of them in memory: such gradients come
    from sums.
    """
    return array if any(array.strides) else np.ascontiguousarray(array)


def run_over_lines(
    loop: Any, target: Array, lines: Sequence[Array], numbers: Sequence[Any], cost: float
) -> None:
    """Run a loop over lines, in pieces if several threads pay."""
    if not pays(cost * target.size):
        loop.run(target, *lines, *numbers)
        return
    run = loop.ready()

    def piece(start: int, stop: int) -> None:
        run(target[start:stop], *[each[start:stop] for each in lines], *numbers)

    split(piece, target.size, cost * target.size)


__all__ = [
    "DOUBLE",
    "LONG",
    "SINGLE",
    "are_dense",
    "elementwise",
    "is_dense",
    "is_float",
    "loops_for",
    "run_over_lines",
]
