"""Array functions on many numbers in half precision, by NumPy's for single precision in blocks.

NumPy computes every half in single precision and rounds it, one by one. The same is done here for a
block at a time, with vector instructions, in memory that is kept. What a route for half precision
calls is found once, when the route is composed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from types import MethodType, SimpleNamespace
from typing import Any, Final
from weakref import WeakKeyDictionary

import ml_dtypes
import numpy

from dovetail_aten.kernel_support import Family, Precision, with_names

from ..memory.scratch import BLOCK_BYTES, Scratch
from ..parallel.threads import run_pieces
from ..silence import nameless, silent
from .half_precision import MANY, converted, write_half, write_single

__all__ = ["for_halves"]

_SINGLE: Final = numpy.dtype(numpy.float32)
_BOOL: Final = numpy.dtype(bool)
_FLOAT16: Final = numpy.dtype(numpy.float16)
_HALVES: Final = (_FLOAT16, numpy.dtype(ml_dtypes.bfloat16))
_STEP: Final = BLOCK_BYTES // 4
_ROOT: Final = math.isqrt(MANY)
"""Two arrays of fewer elements do not give many."""

_NAMES: Final = """
    add subtract multiply divide true_divide reciprocal sqrt square floor ceil trunc rint
    maximum minimum fmax fmin
    greater greater_equal less less_equal equal not_equal
"""
ROUNDED_ONCE: Final = frozenset([getattr(numpy, name) for name in _NAMES.split()])
"""Functions whose results in single precision are those of real numbers, rounded: in half precision
they are the same whichever instructions compute them.
"""
SLOW: Final = frozenset(
    (numpy.exp, numpy.log, numpy.log2, numpy.sin, numpy.cos, numpy.tanh, numpy.log10)
)
"""Functions that are computed number by number in bfloat16 alone."""

_FLAGS: Final = ["external_loop", "buffered", "ranged", "delay_bufalloc"]
_READ: Final = ["readonly"]
_WRITTEN: Final = ["writeonly", "allocate", "no_broadcast"]

_array: Final = numpy.ndarray
_nditer: Any = numpy.nditer
_functions: Final[dict[tuple[Any, Any], Callable[..., Any]]] = {}
_twins: Final[WeakKeyDictionary[Family, Family]] = WeakKeyDictionary()


def for_halves(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what computes the same as an array function, and many numbers in half precision
    faster; the function itself if it is none that is known.
    """
    if getattr(function, "takes_halves", False):
        return function
    if hasattr(function, "compiled_at"):  # of a compiled kernel without half precision
        reference: Any = getattr(function, "__wrapped__")  # noqa: B009  (a callable, to mypy)
        is_own = isinstance(reference, MethodType)  # whose attributes are those of its function
        function = reference if is_own else getattr(reference, "__wrapped__", reference)
    if isinstance(function, numpy.ufunc):
        return _of_halves(function, function)
    family = getattr(function, "__self__", None)
    if isinstance(function, MethodType) and isinstance(family, Family):
        return MethodType(function.__func__, _twin(family))
    return function


def _of_halves(ufunc: Any, otherwise: Any) -> Callable[..., Any]:
    """Return what computes `ufunc`, and what is not many numbers in half precision as `otherwise`
    does.
    """
    found = _functions.get((ufunc, otherwise))
    if found is None:
        dtypes = _HALVES if ufunc in ROUNDED_ONCE else _HALVES[1:] if ufunc in SLOW else ()
        found = _in_single(ufunc, otherwise, dtypes) if dtypes else otherwise
        _functions[ufunc, otherwise] = found
    return found


class _Wide(Precision):
    """float32 for half precision, many numbers by steps on their bits."""

    def wide(self, value: Any) -> Any:
        """Return an array of half precision in float32, anything else itself."""
        made = converted(value, _SINGLE) if value.__class__ is _array else None
        return Precision.wide(self, value) if made is None else made

    def converted(self, array: Any, native_dtype: Any) -> Any:
        """Return an array in another dtype."""
        made = converted(array, native_dtype) if array.__class__ is _array else None
        return Precision.converted(self, array, native_dtype) if made is None else made

    def narrow(self, result: Any, own: Any) -> Any:
        """Return a result in the dtype `own` that was computed in float32; None and what is of
        another dtype itself.
        """
        made = converted(result, own) if result.__class__ is _array else None
        return Precision.narrow(self, result, own) if made is None else made


def _twin(family: Family) -> Family:
    """Return a family that is the same with the functions of this module in the place of NumPy's,
    made once.
    """
    found = _twins.get(family)
    if found is None:
        found = copy(family)
        names = vars(family.xp)
        quick = {
            name: _of_halves(ufunc, function)
            for name, function in names.items()
            if isinstance(ufunc := getattr(numpy, name, None), numpy.ufunc)
        }
        found.xp = with_names(SimpleNamespace(**names), quick=quick)
        found.precision = _Wide(family.capabilities)
        _twins[family] = found
    return found


def _in_single(ufunc: Any, otherwise: Any, dtypes: tuple[Any, ...]) -> Callable[..., Any]:
    """Return what computes `ufunc`, of one array or two, in blocks of single precision."""
    answers = ufunc(*[numpy.empty(0, _SINGLE)] * ufunc.nin).dtype == _BOOL
    in_blocks = silent(_in_blocks)

    @nameless
    def compute_one(x: Any, out: Any = None) -> Any:
        if x.size >= MANY and x.dtype in dtypes:
            made = in_blocks(ufunc, (x,), _BOOL if answers else x.dtype, out)
            if made is not None:
                return made
        return otherwise(x) if out is None else otherwise(x, out=out)

    @nameless
    def compute_two(x: Any, other: Any, out: Any = None) -> Any:
        if (
            x.__class__ is _array
            and other.__class__ is _array
            and (x.size >= _ROOT or other.size >= _ROOT)
            and (own := x.dtype) in dtypes
            and own == other.dtype
            and x.size * other.size >= MANY
            and (own == _FLOAT16 or (x.flags.forc and other.flags.forc))
        ):
            made = in_blocks(ufunc, (x, other), _BOOL if answers else own, out)
            if made is not None:
                return made
        return otherwise(x, other) if out is None else otherwise(x, other, out=out)

    return compute_one if ufunc.nin == 1 else compute_two


def _in_blocks(ufunc: Any, operands: tuple[Any, ...], dtype: Any, out: Any) -> Any | None:
    """Return what `ufunc` returns of operands of one half precision, an array of `dtype`; None if
    they do not fit, or are few.
    """
    own = operands[0].dtype
    given = operands[:1] if operands[0] is operands[-1] else operands
    if out is not None:
        if out.__class__ is not _array or out.dtype != dtype:
            return None
        given = tuple([each.copy() if _overlap(each, out) else each for each in given])
    try:
        pass_over = _nditer(
            (*given, out),
            _FLAGS,
            [_READ] * len(given) + [_WRITTEN],
            [own] * len(given) + [dtype],
            order="K",
            casting="no",
            buffersize=_STEP,
        )
    except ValueError:
        return None  # the function says what does not fit
    size = pass_over.itersize
    if size < MANY:
        return None

    def compute(begin: int, end: int) -> None:
        part = pass_over.copy()
        part.iterrange = begin * _STEP, min(end * _STEP, size)
        with Scratch() as memory:
            rooms = memory[:3].view(_SINGLE)
            for *blocks, target in part:
                wide = [_widened(*each) for each in zip(blocks, rooms, strict=False)]
                _write(ufunc, target, rooms, wide if len(wide) == ufunc.nin else wide * 2)

    run_pieces(compute, -(-size // _STEP), size)
    return pass_over.operands[-1] if out is None else out


def _overlap(operand: Any, out: Any) -> bool:
    """Return whether elements of `operand` may be written before they are read."""
    if not numpy.may_share_memory(operand, out):
        return False
    return bool(
        operand.__array_interface__["data"] != out.__array_interface__["data"]
        or operand.shape != out.shape
        or operand.strides != out.strides
    )


def _widened(block: Any, room: Any) -> Any:
    """Return a block in float32, in the room; of an element for all, one."""
    if not block.strides[0]:
        block = block[:1]
    found = room[: block.size]
    if block.dtype == _FLOAT16:
        write_single(found, block)
    else:
        numpy.copyto(found, block)
    return found


def _write(ufunc: Any, target: Any, rooms: Any, operands: list[Any]) -> None:
    """Write what `ufunc` returns of operands in float32, in the first rooms, to a block."""
    if target.dtype == _BOOL:
        ufunc(*operands, out=target)
        return
    room, first, second = rooms[:, : target.size]
    ufunc(*operands, out=room)
    if target.dtype == _FLOAT16:
        write_half(target, first.view(numpy.int32), second.view(numpy.int32), room)
    else:
        numpy.copyto(target, room, casting="unsafe")
