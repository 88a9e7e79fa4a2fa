"""Arithmetic written in place: scaled sums, which every optimizer needs. And remainders in single
precision by divisions in double precision.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy
import numpy as np

from dovetail_aten.families import Arithmetic
from dovetail_aten.kernel_support import Capabilities, Function, KernelTable
from dovetail_aten.typing import Namespace

from ..functions.blocks import in_blocks, written

_FACTORS = 256
_SINGLE, _DOUBLE = numpy.dtype(numpy.float32), numpy.dtype(numpy.float64)
_FLOATS = (_SINGLE, _DOUBLE)
_WRITTEN_OVER = 1 << 15
"""Elements from which a temporary that is written over pays for looking whether it may be."""
_BLOCKS_FROM = 1 << 18
"""Elements from which blocks pay."""
_VERY_MANY = 1 << 16
"""Elements from which importing SciPy pays."""
_IN_ONE_THREAD = 10_000
"""Elements up to which OpenBLAS adds in the calling thread. SciPy has an OpenBLAS of its own: its
threads and those of NumPy's, which wait for the next product by spinning, would take the processors
from each other, some milliseconds each time.
"""
_LEAST = 1e-30
_MANY = 1 << 10
"""Elements from which division in double precision pays."""
_EXACT = 2.0**28
"""Quotient from which a product with it may be rounded."""
_add, _multiply, _copyto = numpy.add, numpy.multiply, numpy.copyto


def _are_alike(*arrays: Any) -> bool:
    """Return whether arrays of floats have one shape, dtype and order of memory."""
    first = arrays[0]
    return first.ndim > 0 and all(
        [
            each.shape == first.shape
            and each.dtype in _FLOATS
            and each.dtype == first.dtype
            and each.flags.c_contiguous
            for each in arrays
        ]
    )


def _add_scaled(out: np.ndarray, room: Any, x: np.ndarray, other: Any, factor: Any) -> None:
    """Write ``x + factor * other``."""
    _multiply(other, factor, room)
    _add(x, room, out)


def _subtract_scaled(out: np.ndarray, room: Any, x: np.ndarray, other: Any, factor: Any) -> None:
    """Write ``x - factor * other``."""
    _multiply(other, factor, room)
    numpy.subtract(x, room, out)


def _combine(
    out: np.ndarray,
    ufunc: np.ufunc,
    x: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    factor: np.ndarray,
) -> None:
    """Write ``x + factor * ufunc(first, second)``."""
    ufunc(first, second, out)
    _multiply(out, factor, out)
    _add(x, out, out)


def _combined(
    ufunc: np.ufunc, x: np.ndarray, first: np.ndarray, second: np.ndarray, factor: np.ndarray | None
) -> Any:
    """Return ``x + factor * ufunc(first, second)`` of arrays that are alike; a factor of None is
    none.
    """
    if factor is not None and x.size >= _BLOCKS_FROM:
        return written(_combine, 0, (ufunc, x, first, second, factor), {})
    part = ufunc(first, second)
    if factor is not None:
        _multiply(part, factor, part)
    return _add(x, part, part)


def _are_apart(x: np.ndarray, other: np.ndarray) -> bool:
    """Return whether arrays are alike and share no memory."""
    return _are_alike(x, other) and not numpy.may_share_memory(x, other)


def _may_be_added(alpha: object, x: np.ndarray, other: np.ndarray) -> bool:
    """Return whether BLAS adds `other` to `x`: arrays that do not share memory."""
    return (
        alpha.__class__ in (int, float)
        and _LEAST < abs(alpha) < 1 / _LEAST  # what is 0 or infinite BLAS may leave out
        and _are_apart(x, other)
    )


def _rest(whole: Any, generic: Function, family: object, x: np.ndarray, other: np.ndarray) -> Any:
    """Return ``x - whole(x / other) * other`` of float32 arrays, which is exact: neither product
    nor difference needs more than 53 bits, and no quotient is rounded to a whole number.
    """
    wide, divisor = x.astype(_DOUBLE), other.astype(_DOUBLE)
    quotient = whole(wide / divisor)
    if not (numpy.absolute(quotient).max() < _EXACT and numpy.isfinite(divisor).all()):
        return generic(family, x, other)
    quotient *= divisor
    result = numpy.subtract(wide, quotient).astype(_SINGLE)
    if not result.all():
        # A zero has the sign of what was divided.
        zeros = result == 0
        result[zeros] = numpy.copysign(result[zeros], x[zeros])
    return result


def _remainder(whole: object, generic: Function) -> Function:
    """Return the method that computes remainders of many float32 numbers in blocks."""

    def remainder(self: Any, x: np.ndarray, other: np.ndarray) -> Any:
        dividend, divisor = self.numbers.pair(x, other)
        if (
            dividend.size < _MANY
            or dividend.dtype != _SINGLE
            or divisor.dtype != _SINGLE
            or (divisor.ndim and divisor.shape != dividend.shape)
        ):
            return generic(self, x, other)
        return in_blocks(_rest, whole, generic, self, dividend, divisor)

    remainder.__doc__ = generic.__doc__
    return remainder


class FastArithmetic(Arithmetic):
    """Scaled sums, written into an array that there is; remainders in blocks."""

    remainder = _remainder(numpy.floor, Arithmetic.remainder)
    fmod = _remainder(numpy.trunc, Arithmetic.fmod)

    def __init__(
        self, xp: Namespace, capabilities: Capabilities, table: KernelTable | None = None
    ) -> None:
        super().__init__(xp, capabilities, table)
        self.add_into = self._sum_into(numpy.add, self.add, 1)
        self.sub_into = self._sum_into(numpy.subtract, self.sub, -1)

    def define_in(self, kernel: KernelTable) -> None:
        """Define the kernels, and what writes their results into an array."""
        super().define_in(kernel)
        add, subtract = self.xp.add, self.xp.subtract
        kernel(
            "add.Tensor",
            self.add,
            fast_path=add,
            out_function=add,
            general_out_function=self.add_into,
        )
        kernel(
            "sub.Tensor",
            self.sub,
            fast_path=subtract,
            out_function=subtract,
            general_out_function=self.sub_into,
        )

    def addcmul(
        self, x: np.ndarray, tensor1: np.ndarray, tensor2: np.ndarray, *, value: object = 1
    ) -> Any:
        """Return ``x + value * tensor1 * tensor2``."""
        if x.size >= _WRITTEN_OVER and _are_alike(x, tensor1, tensor2):
            return _combined(_multiply, x, tensor1, tensor2, self._factor(x, value))
        if value == 1:
            return _add(x, _multiply(tensor1, tensor2))
        return Arithmetic.addcmul(self, x, tensor1, tensor2, value=value)

    def addcdiv(
        self, x: np.ndarray, tensor1: np.ndarray, tensor2: np.ndarray, *, value: object = 1
    ) -> Any:
        """Return ``x + value * tensor1 / tensor2``."""
        if x.size >= _WRITTEN_OVER and _are_alike(x, tensor1, tensor2):
            return _combined(numpy.divide, x, tensor1, tensor2, self._factor(x, value))
        return Arithmetic.addcdiv(self, x, tensor1, tensor2, value=value)

    def _factor(self, x: np.ndarray, value: object) -> Any:
        """Return `value`, which the dtype of `x` must be able to hold, as a factor; None for 1."""
        return None if value == 1 else self.numbers.fitting(x, value)

    def lerp_number(self, x: Any, end: Any, weight: np.ndarray) -> Any:
        """Return ``x + weight * (end - x)`` for a number `weight`."""
        dtype = x.dtype
        if (
            dtype not in _FLOATS
            or dtype is not end.dtype
            or not x.ndim
            or x.shape != end.shape
            or not x.flags.c_contiguous
            or not end.flags.c_contiguous
        ):
            return Arithmetic.lerp_number(self, x, end, weight)
        if abs(weight) < 0.5:
            return _combined(numpy.subtract, x, end, x, self.numbers.like(x, weight))
        return _combined(numpy.subtract, end, end, x, self.numbers.like(x, weight - 1))

    def _sum_into(self, ufunc: np.ufunc, generic: Function, sign: int) -> Function:
        """Return the function that writes the sum with a scaled addend into `out`."""
        factors: dict[tuple[float, Any], Any] = {}
        of_dtype = self.numbers.of_dtype
        write = _add_scaled if sign == 1 else _subtract_scaled

        def sum_into(x: np.ndarray, other: np.ndarray, *, alpha: Any, out: np.ndarray) -> Any:
            dtype = x.dtype
            if x is out and x.size >= _VERY_MANY and _may_be_added(alpha, x, other):
                blas = import_module("scipy.linalg.blas")
                add = blas.saxpy if dtype == _SINGLE else blas.daxpy
                source, target, factor = other.reshape(-1), out.reshape(-1), alpha * sign
                for start in range(0, x.size, _IN_ONE_THREAD):
                    some = slice(start, start + _IN_ONE_THREAD)
                    add(source[some], target[some], a=factor)
                return out
            factor = factors.get((alpha, dtype))
            if factor is None and alpha.__class__ is float and dtype.kind == "f":
                if len(factors) >= _FACTORS:
                    factors.clear()
                factor = of_dtype(alpha, dtype)
                if alpha:  # of zeros only one would be found again
                    factors[alpha, dtype] = factor
            if factor is not None:
                if x is out and x.size >= _BLOCKS_FROM and _are_apart(x, other):
                    return written(write, 1, (x, other, factor), {}, out)
                return ufunc(x, _multiply(other, factor), out=out)
            result = generic(x, other, alpha=alpha)
            if result.shape != out.shape:
                raise ValueError(f"cannot broadcast {result.shape} into {out.shape}")
            _copyto(out, result)
            return out

        return sum_into
