"""Arithmetic: sums, products, quotients and powers."""

from __future__ import annotations

from typing import Any, ClassVar

from dovetail_kernel import uint16, uint32, uint64
from dovetail_kernel.typing import NativeDtype

from ....kernel_support.family import Family, helper, lays_out, operator, widened
from ....kernel_support.table import KernelTable
from ....typing import Array, Scalar

_ROOTS = (0.5, 3, -1, -2, -0.5)
"""Exponents of powers that are roots, products and reciprocals."""


class Arithmetic(Family):
    """Sums, products, quotients and powers of arrays and numbers."""

    functions: ClassVar = {"neg": "negative"}
    functions_with_out: ClassVar = {"mul.Tensor": "multiply", "div.Tensor": "true_divide"}

    functions_of_numbers: ClassVar = {"mul.Scalar": "multiply"}

    def define_in(self, kernel: KernelTable) -> None:
        """Define the kernels; sums without a factor are functions of the namespace."""
        super().define_in(kernel)
        add, subtract = self.xp.add, self.xp.subtract
        kernel("add.Tensor", self.add, fast_path=add, out_function=add)
        kernel("sub.Tensor", self.sub, fast_path=subtract, out_function=subtract)
        kernel("neg", self.xp.negative, out_function=_negation_into(self.xp.negative))

    def _check_alpha(self, alpha: Any, dtype: NativeDtype) -> None:
        """Raise an error for an `alpha` of a higher category than the result."""
        if isinstance(alpha, bool) and dtype != self.xp.bool_:
            raise RuntimeError("Boolean alpha only supported for Boolean results. Give an int.")
        if isinstance(alpha, float | complex) and dtype in self.precision.integral:
            raise RuntimeError(
                "For integral input tensors, argument alpha must not be a floating point number. "
                "Give an int, or convert the tensor first."
            )
        if isinstance(alpha, complex) and dtype not in self.precision.complex:
            raise RuntimeError(
                "For non-complex input tensors, argument alpha must not be a complex number. "
                "Convert the tensor first."
            )

    def _scaled(self, array: Array | Scalar, alpha: Scalar) -> Any:
        """Return ``alpha * array``."""
        if alpha == 1 and alpha is not True:
            return array
        if not hasattr(array, "dtype"):
            return array * alpha
        self._check_alpha(alpha, array.dtype)
        return self.xp.multiply(array, self.numbers.fitting(array, alpha))

    def _times(self, array: Array, value: object) -> Any:
        """Return ``value * array``; the dtype of the array must be able to hold `value`."""
        return array if value == 1 else self.xp.multiply(array, self.numbers.fitting(array, value))

    def _scaled_number(self, array: Array, number: Any, alpha: Any) -> Any:
        """Return ``alpha * number`` for an addend of `array`."""
        if alpha == 1 and alpha is not True:
            return number
        like = self.numbers.pair(array, number)[0]
        self._check_alpha(alpha, like.dtype)
        self.numbers.fitting(like, alpha)
        return number * alpha

    @operator("add.Tensor")
    def add(self, x: Array, other: Array | Scalar, *, alpha: Scalar = 1) -> Any:
        """Return ``x + alpha * other``."""
        return self.xp.add(x, self._scaled(other, alpha))

    @operator("sub.Tensor")
    def sub(self, x: Array, other: Array | Scalar, *, alpha: Scalar = 1) -> Any:
        """Return ``x - alpha * other``."""
        return self.xp.subtract(x, self._scaled(other, alpha))

    @operator("rsub.Tensor")
    @lays_out
    def rsub(self, x: Array, other: Any, *, alpha: Scalar = 1) -> Any:
        """Return ``other - alpha * x``."""
        made = self.xp.subtract(other, self._scaled(x, alpha))
        return self.in_order(made, other, x) if hasattr(other, "ndim") else made

    @operator("add.Scalar")
    def add_number(self, x: Array, other: Array, alpha: object = 1) -> Any:
        """Return ``x + alpha * other`` for a number `other`."""
        return self.xp.add(*self.numbers.pair(x, self._scaled_number(x, other, alpha)))

    @operator("sub.Scalar")
    def sub_number(self, x: Array, other: Array, alpha: object = 1) -> Any:
        """Return ``x - alpha * other`` for a number `other`."""
        return self.xp.subtract(*self.numbers.pair(x, self._scaled_number(x, other, alpha)))

    @operator("rsub.Scalar")
    def rsub_number(self, x: Array, other: Scalar, alpha: Scalar = 1) -> Any:
        """Return ``other - alpha * x`` for a number `other`."""
        array, number = self.numbers.pair(x, other)
        return self.xp.subtract(number, self._scaled(array, alpha))

    @operator("addcmul")
    def addcmul(self, x: Any, tensor1: Any, tensor2: Any, *, value: object = 1) -> Any:
        """Return ``x + value * tensor1 * tensor2``."""
        xp = self.xp
        return xp.add(x, self._times(xp.multiply(tensor1, tensor2), value))

    @operator("addcdiv")
    def addcdiv(self, x: Any, tensor1: Any, tensor2: Any, *, value: object = 1) -> Any:
        """Return ``x + value * tensor1 / tensor2``."""
        xp = self.xp
        if tensor1.dtype in self.precision.integral and tensor2.dtype in self.precision.integral:
            raise RuntimeError(
                "Integer division with addcdiv is no longer supported. Use "
                "self + value * trunc(tensor1 / tensor2), or convert to a floating-point dtype."
            )
        return xp.add(x, self._times(xp.true_divide(tensor1, tensor2), value))

    @operator("lerp.Tensor")
    @widened
    def lerp(self, x: Array, end: Array, weight: Array) -> Any:
        """Return ``x + weight * (end - x)``."""
        xp = self.xp
        # From the nearer end, so that a weight of 1 gives `end` exactly.
        step = xp.subtract(end, x)
        one = self.numbers.like(weight, 1)
        near = xp.absolute(weight) < self.numbers.of_dtype(0.5, xp.absolute(weight).dtype)
        return xp.where(
            near, xp.add(x, weight * step), xp.subtract(end, step * xp.subtract(one, weight))
        )

    @operator("lerp.Scalar")
    @widened
    def lerp_number(self, x: Array, end: object, weight: Any) -> Any:
        """Return ``x + weight * (end - x)`` for a number `weight`."""
        xp = self.xp
        step = xp.subtract(end, x)
        if abs(weight) < 0.5:
            return xp.add(x, xp.multiply(step, self.numbers.like(step, weight)))
        return xp.subtract(end, xp.multiply(step, self.numbers.like(step, 1 - weight)))

    def _check_divisor(self, array: Array, divisor: Any) -> None:
        """Raise an error for a zero among integer divisors, unless values are lazy."""
        if self.lazy or not array.size or array.dtype not in self.precision.integral:
            return
        zero = divisor == 0
        if bool(self.xp.any(zero) if zero.ndim else zero):  # or a number of another library
            raise RuntimeError(
                "ZeroDivisionError: division of an integer by zero. Convert to a floating-point "
                "dtype."
            )

    def _divide_mode(self, x: Any, other: Any, rounding_mode: str | None) -> Any:
        """Return the quotient, rounded as `rounding_mode` says; arrays without dimensions may be of
        another dtype.
        """
        xp = self.xp
        if rounding_mode is not None and x.dtype == xp.bool_ and other.dtype == xp.bool_:
            raise NotImplementedError(
                f"\"div_{rounding_mode}\" not implemented for 'Bool'. Convert to a number dtype."
            )
        if rounding_mode is None:
            return xp.true_divide(self.numbers.as_float(x), self.numbers.as_float(other))
        if x.dtype != other.dtype:
            wanted = (other if other.ndim else x).dtype
            x, other = x.astype(wanted), other.astype(wanted)
        if (kind := self.dtypes[x.dtype]) in (uint16, uint32, uint64):
            raise NotImplementedError(
                f"\"div_{rounding_mode}\" not implemented for '{kind.scalar_name}'. Convert to a "
                "signed dtype."
            )
        if rounding_mode == "trunc":
            if x.dtype not in self.precision.integral:
                return xp.trunc(xp.true_divide(x, other))
            self._check_divisor(x, other)
            quotient = xp.floor_divide(x, other)
            inexact = xp.multiply(quotient, other) != x
            return quotient + xp.logical_and(inexact, quotient < 0).astype(x.dtype)
        if rounding_mode == "floor":
            self._check_divisor(x, other)
            return xp.floor_divide(x, other)
        raise RuntimeError(
            "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
            f"'{rounding_mode}'"
        )

    @operator("div.Scalar")
    def div_number(self, x: Array, other: Array) -> Any:
        """Return ``x / other`` for a number `other`."""
        return self.xp.true_divide(*self.numbers.pair(self.numbers.as_float(x), other))

    @operator("div.Tensor_mode", "div.Scalar_mode")
    def div_mode(self, x: Array, other: Scalar, *, rounding_mode: str | None) -> Any:
        """Return the quotient: true, rounded towards zero (``'trunc'``) or down (``'floor'``)."""
        if rounding_mode is None:
            x = self.numbers.as_float(x)
        return self._divide_mode(*self.numbers.pair(x, other), rounding_mode)

    @helper("div")
    def div(self, x: Array, other: Array | Scalar, *, rounding_mode: str | None = None) -> Any:
        """Return the quotient of two arrays, like `div_mode`."""
        return (
            self.xp.true_divide(x, other)
            if rounding_mode is None
            else self._divide_mode(x, other, rounding_mode)
        )

    @operator("floor_divide", "floor_divide.Scalar")
    def floor_divide(self, x: Array, other: Array) -> Any:
        """Return the quotient rounded down."""
        return self._divide_mode(*self.numbers.pair(x, other), "floor")

    @operator("remainder.Tensor", "remainder.Scalar")
    def remainder(self, x: Array, other: Array) -> Any:
        """Return the remainder of the division rounded down: it has the sign of the divisor."""
        x, other = self.numbers.pair(x, other)
        self._check_divisor(x, other)
        xp = self.xp
        if x.dtype in self.precision.integral:
            return xp.remainder(x, other)
        # Not the namespace's, whose zeros have the sign of the divisor.
        rest = xp.fmod(x, other)
        zero = self.numbers.like(rest, 0)
        opposite = xp.logical_and(rest != zero, (other < zero) != (rest < zero))
        return xp.where(opposite, xp.add(rest, other), rest)

    @operator("fmod.Tensor", "fmod.Scalar")
    def fmod(self, x: Array, other: Scalar) -> Any:
        """Return the remainder of the division rounded towards zero: it has the sign of `x`."""
        x, other = self.numbers.pair(x, other)
        self._check_divisor(x, other)
        return self.xp.fmod(x, other)

    @operator("pow.Tensor_Scalar")
    def power_of_number(self, x: Array, exponent: Any) -> Any:
        """Return ``x ** exponent`` for a number `exponent`; small ones as products, roots and
        reciprocals.
        """
        xp = self.xp
        x, number = self.numbers.pair(x, exponent)
        if exponent == 2:
            return xp.multiply(x, x)
        if x.dtype in self.precision.integral:
            if exponent < 0:
                raise RuntimeError(
                    "Integers to negative integer powers are not allowed. Convert to a "
                    "floating-point dtype."
                )
            return xp.power(x, number).astype(x.dtype, copy=False)
        if exponent not in _ROOTS:
            return xp.power(x, number)
        return self.in_order(self._root_or_product(x, exponent), x)

    @widened
    def _root_or_product(self, x: Array, exponent: float) -> Any:
        xp = self.xp
        if exponent == 3:
            return xp.multiply(xp.multiply(x, x), x)
        if abs(exponent) == 0.5:
            x = xp.sqrt(x)
        elif exponent == -2:
            x = xp.multiply(x, x)
        return xp.reciprocal(x) if exponent < 0 else x

    def _power_of_arrays(self, x: Any, exponent: Any) -> Any:
        """Return ``x ** exponent`` for two arrays of one dtype."""
        xp = self.xp
        if exponent.dtype not in self.precision.integral:
            return xp.power(x, exponent)
        negative = exponent < 0
        if not self.lazy and not bool(xp.any(negative)):
            return xp.power(x, exponent).astype(exponent.dtype, copy=False)
        # An integer to a negative power is 0, but for 1 and -1.
        zero, one = self.numbers.like(exponent, 0), self.numbers.like(exponent, 1)
        result = xp.power(x, xp.where(negative, zero, exponent))
        odd = xp.remainder(exponent, self.numbers.like(exponent, 2)) == 1
        minus = xp.where(xp.logical_and(x == -1, odd), self.numbers.like(exponent, -1), one)
        small = xp.where(xp.absolute(x) == 1, xp.where(x == 1, one, minus), zero)
        return xp.where(negative, small, result).astype(exponent.dtype, copy=False)

    @operator("pow.Tensor_Tensor")
    def pow(self, x: Array, exponent: Scalar) -> Any:
        """Return ``x ** exponent``."""
        return (
            self._power_of_arrays(x, exponent)
            if hasattr(exponent, "dtype")
            else self.power_of_number(x, exponent)
        )

    @operator("pow.Scalar")
    def pow_number(self, x: Scalar, exponent: Array) -> Any:
        """Return ``x ** exponent`` for a number `x`."""
        exponent, base = self.numbers.pair(exponent, x)
        result = self._power_of_arrays(base, exponent)
        return self.capabilities.contiguous(result) if result.ndim > 1 else result


def _negation_into(negative: Any) -> Any:
    """Return what writes ``-x`` into an array."""

    def negative_into(x: Array, *, out: Any) -> Any:
        # NumPy 2.4 computes ``negative(x, out=x)`` wrongly for some strides.
        flags = getattr(out, "flags", None)
        if flags is None or flags.c_contiguous:
            return negative(x, out=out)
        out[...] = negative(x)
        return out

    return negative_into
