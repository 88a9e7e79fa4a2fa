"""Signs, powers of two and bits of numbers, and what is rounded to decimals."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from dovetail_kernel import int16

from ....kernel_support.family import Family, operator, widened
from ....typing import Array

_LEAST_EXPONENT = 126
"""Powers of 2 and minus this are normal numbers in single precision."""


class NumberParts(Family):
    """Signs, mantissas and exponents, degrees, decimals, and the shifts of whole numbers."""

    functions_with_out: ClassVar = {
        "bitwise_left_shift.Tensor": "left_shift",
        "bitwise_right_shift.Tensor": "right_shift",
    }

    @operator("copysign.Tensor", "copysign.Scalar")
    def copysign(self, x: Array, other: Array) -> Any:
        """Return the absolute value of `x` with the sign of `other`."""
        return self.xp.copysign(*self.numbers.pair(x, other))

    @operator("signbit")
    def signbit(self, x: Array) -> Any:
        """Return whether the sign is negative, also for -0.0."""
        if x.dtype in self.precision.halves:  # by their bits: libraries widen them one by one
            x = self.capabilities.reinterpret(x, self.native_dtypes[int16])
        if x.dtype in self.precision.integral:
            return x < self.numbers.like(x, 0)
        return self.xp.signbit(x)

    @operator("isposinf")
    def isposinf(self, x: Array) -> Any:
        """Return whether elements are infinite."""
        return self._is_infinite(x, math.inf)

    @operator("isneginf")
    def isneginf(self, x: Array) -> Any:
        """Return whether elements are minus infinity."""
        return self._is_infinite(x, -math.inf)

    def _is_infinite(self, x: Array, infinity: float) -> Any:
        if x.dtype in self.precision.integral:
            return self.xp.zeros_like(x, dtype=self.xp.bool_)
        return self.xp.equal(x, self.numbers.like(x, infinity))

    @operator("heaviside")
    def heaviside(self, x: Array, values: Array) -> Any:
        """Return 0 for negative elements and NaN, 1 for positive ones, `values` for zeros."""
        zero = self.numbers.like(x, 0)
        return self.xp.where(x == zero, values, (x > zero).astype(x.dtype))

    @operator("ldexp.Tensor")
    @widened
    def ldexp(self, x: Array, other: Array) -> Any:
        """Return ``x * 2 ** other``, by two factors, neither of which overflows before the result
        does.
        """
        xp = self.xp
        two = self.numbers.like(x, 2)
        if x.dtype in self.precision.complex or self._are_small(other):
            return xp.multiply(x, xp.power(two, other))
        finite = xp.isfinite(other)
        half = xp.where(finite, xp.trunc(xp.true_divide(other, two)), self.numbers.like(other, 0))
        scaled = xp.multiply(x, xp.power(two, half))
        scaled = xp.multiply(scaled, xp.power(two, xp.subtract(other, half)))
        # A power may be zero or infinite where the exponent is not.
        fixed = xp.logical_or(x == self.numbers.like(x, 0), xp.isinf(x))
        return xp.where(xp.logical_and(fixed, finite), x, scaled)

    def _are_small(self, exponents: Array) -> bool:
        """Return whether all powers of 2 are normal numbers; False if that is not known."""
        xp = self.xp
        if self.lazy or not exponents.size:
            return False
        return bool(xp.amax(xp.absolute(exponents)) <= _LEAST_EXPONENT)

    @operator("frexp.Tensor")
    @widened
    def frexp(self, x: Array) -> tuple[Any, Any]:
        """Return mantissas in [0.5, 1) and exponents of ``x = mantissa * 2 ** exponent``."""
        if x.dtype not in self.precision.real_floats:
            raise RuntimeError(
                "torch.frexp() only supports floating-point dtypes. Convert the tensor first."
            )
        mantissa, exponent = self.xp.frexp(x)
        return mantissa, exponent

    @operator("round.decimals")
    @widened
    def round_decimals(self, x: Array, *, decimals: int) -> Any:
        """Return the nearest multiples of ``10 ** -decimals``; ties go to the even multiple."""
        xp = self.xp
        if decimals == 0:
            return xp.rint(x)
        power = self.numbers.like(x, float(f"1e{min(abs(decimals), 400)}"))  # infinite from 309 on
        if decimals > 0:
            return xp.true_divide(xp.rint(xp.multiply(x, power)), power)
        return xp.multiply(xp.rint(xp.true_divide(x, power)), power)

    @operator("bitwise_left_shift.Tensor_Scalar", "bitwise_left_shift.Scalar_Tensor")
    def left_shift(self, x: Array, other: Array) -> Any:
        """Return ``x << other``; one operand is a number."""
        return self.xp.left_shift(*self.numbers.either(x, other))

    @operator("bitwise_right_shift.Tensor_Scalar", "bitwise_right_shift.Scalar_Tensor")
    def right_shift(self, x: Array, other: Array) -> Any:
        """Return ``x >> other``; one operand is a number."""
        return self.xp.right_shift(*self.numbers.either(x, other))
