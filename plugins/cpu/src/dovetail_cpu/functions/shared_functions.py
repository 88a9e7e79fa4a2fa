"""NumPy's elementwise functions on large arrays, of which each thread computes a part.

A part is one call, long enough to make up for handing it over: the threads wait for the interpreter
once. What has gaps in memory or is broadcast is left to the function itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy
import numpy as np

from ..parallel.threads import run_pieces
from ..silence import nameless, silent

_UNIT: Final = 64
"""Elements that vectors of any length divide: parts begin at multiples of it."""
_array: Final = numpy.ndarray
_share_memory: Final = numpy.may_share_memory


@cache
def shared(ufunc: numpy.ufunc) -> Callable[..., Any] | None:
    """Return what computes `ufunc` of large arrays on several threads; None if it is not a function
    of each element of one array or two.
    """
    if ufunc.nout != 1 or ufunc.nin > 2 or ufunc.signature is not None:
        return None
    in_parts = silent(_in_parts)

    @nameless
    def compute(*operands: Any, out: np.ndarray | None = None) -> Any:
        made = in_parts(ufunc, operands, out)
        return ufunc(*operands, out=out) if made is None else made

    compute.__name__ = f"{ufunc.__name__} on several threads"
    return compute


def _in_parts(ufunc: numpy.ufunc, operands: tuple[Any, ...], out: Any) -> Any | None:
    """Return ``ufunc(*operands, out=out)``; None where it cannot be parted."""
    arrays = [each for each in operands if each.ndim]
    written = arrays if out is None else [*arrays, out]
    shape = written[0].shape
    if any([each.__class__ is not _array or each.shape != shape for each in written]):
        return None
    order = _contiguous_order(*written)
    if order is None:
        return None
    if out is None:
        dtype = _dtype_of_result(ufunc, *[each.dtype for each in operands])
        if dtype is None:
            return None
        out = numpy.empty(shape, dtype, order)
    elif any([each is not out and _share_memory(each, out) for each in operands]):
        return None
    given = [_line_of(each, order) if each.ndim else each for each in operands]
    target = _line_of(out, order)

    def compute(start: int, stop: int) -> None:
        some = slice(start * _UNIT, stop * _UNIT)
        ufunc(*[each[some] if each.ndim else each for each in given], out=target[some])

    run_pieces(compute, -(-target.size // _UNIT), target.size)
    return out


@cache
def _dtype_of_result(ufunc: numpy.ufunc, *dtypes: Any) -> Any | None:
    """Return the dtype of what `ufunc` makes; None of what it refuses."""
    try:
        return ufunc.resolve_dtypes((*dtypes, None))[-1]
    except TypeError:
        return None


def _contiguous_order(*arrays: Any) -> Any:
    """Return the order, "C" or "F", in which arrays lie in memory without gaps; None if in none."""
    if all([each.flags.c_contiguous for each in arrays]):
        return "C"
    return "F" if all([each.flags.f_contiguous for each in arrays]) else None


def _line_of(array: Any, order: str) -> Any:
    """Return the elements of a contiguous array in the order of memory."""
    return (array if order == "C" else array.T).reshape(-1)
