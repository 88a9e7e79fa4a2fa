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

from ..memory.aligned_memory import aligned, aligned_empty
from ..parallel.threads import SHARED_FROM, run_pieces
from ..silence import nameless, silent
from .blocks import UNIT, contiguous_order, line_of

_array: Final = numpy.ndarray
_share_memory: Final = numpy.may_share_memory


@cache
def shared(ufunc: numpy.ufunc) -> Callable[..., Any] | None:
    """Return what computes `ufunc` of large arrays on several threads; None if it is not a function
    of each element of one array or two.
    """
    if ufunc.nout != 1 or ufunc.nin > 2 or ufunc.signature is not None:
        return None
    in_parts, whole = silent(_in_parts), aligned(ufunc)

    @nameless
    def compute(*operands: Any, out: np.ndarray | None = None) -> Any:
        if max([each.size for each in operands]) >= SHARED_FROM:
            made = in_parts(ufunc, operands, out)
            if made is not None:
                return made
        return whole(*operands) if out is None else ufunc(*operands, out=out)

    compute.__name__ = f"{ufunc.__name__} on several threads"
    return compute


def _in_parts(ufunc: numpy.ufunc, operands: tuple[Any, ...], out: Any) -> Any | None:
    """Return ``ufunc(*operands, out=out)``; None where it cannot be parted."""
    arrays = [each for each in operands if each.ndim]
    written = arrays if out is None else [*arrays, out]
    shape = written[0].shape
    if any([each.__class__ is not _array or each.shape != shape for each in written]):
        return None
    order = contiguous_order(*written)
    if order is None:
        return None
    if out is None:
        dtype = _dtype_of_result(ufunc, *[each.dtype for each in operands])
        if dtype is None:
            return None
        out = aligned_empty(shape, dtype, order)
    elif any([each is not out and _share_memory(each, out) for each in operands]):
        return None
    given = [line_of(each, order) if each.ndim else each for each in operands]
    target = line_of(out, order)

    def compute(start: int, stop: int) -> None:
        some = slice(start * UNIT, stop * UNIT)
        ufunc(*[each[some] if each.ndim else each for each in given], out=target[some])

    run_pieces(compute, -(-target.size // UNIT), target.size)
    return out


@cache
def _dtype_of_result(ufunc: numpy.ufunc, *dtypes: Any) -> Any | None:
    """Return the dtype of what `ufunc` makes; None of what it refuses."""
    try:
        return ufunc.resolve_dtypes((*dtypes, None))[-1]
    except TypeError:
        return None
