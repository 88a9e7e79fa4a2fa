"""Scaled sums that are written in place, and remainders in single precision by divisions in double
precision.
"""

from __future__ import annotations

from typing import Any

import numpy
import numpy as np

from dovetail_aten.families import Arithmetic
from dovetail_aten.kernel_support import Capabilities, Function, KernelTable
from dovetail_aten.typing import Namespace

_SINGLE, _DOUBLE = numpy.dtype(numpy.float32), numpy.dtype(numpy.float64)
_MANY = 1 << 10
"""Elements from which division in double precision pays."""
_EXACT = 2.0**28
"""Quotient from which a product with it may be rounded."""


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
    """Return the method that computes remainders of many float32 numbers."""

    def remainder(self: Any, x: np.ndarray, other: np.ndarray) -> Any:
        dividend, divisor = self.numbers.pair(x, other)
        if (
            dividend.size < _MANY
            or dividend.dtype != _SINGLE
            or divisor.dtype != _SINGLE
            or (divisor.ndim and divisor.shape != dividend.shape)
        ):
            return generic(self, x, other)
        return _rest(whole, generic, self, dividend, divisor)

    remainder.__doc__ = generic.__doc__
    return remainder


class FastArithmetic(Arithmetic):
    """Scaled sums that are written into an array; remainders by divisions in double precision."""

    remainder = _remainder(numpy.floor, Arithmetic.remainder)
    fmod = _remainder(numpy.trunc, Arithmetic.fmod)

    def __init__(
        self, xp: Namespace, capabilities: Capabilities, table: KernelTable | None = None
    ) -> None:
        super().__init__(xp, capabilities, table)
        self.add_into = self._sum_into("add_into", self.add)
        self.sub_into = self._sum_into("sub_into", self.sub)

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

    def _sum_into(self, operator: str, generic: Function) -> Function:
        """Return the function that writes the sum with a scaled addend into `out`."""

        def sum_into(x: np.ndarray, other: np.ndarray, *, alpha: object, out: np.ndarray) -> Any:
            result = generic(x, other, alpha=alpha)
            if result.shape != out.shape:
                raise ValueError(f"cannot broadcast {result.shape} into {out.shape}")
            numpy.copyto(out, result)
            return out

        compiled: Function = self.capabilities.compiled(operator, sum_into)
        return compiled
