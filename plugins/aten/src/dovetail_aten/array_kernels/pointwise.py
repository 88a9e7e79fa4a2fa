"""Pointwise arithmetic, elementary functions and choice between operands."""

from __future__ import annotations

import math
from typing import Any

from dovetail_kernel import bool as bool_
from dovetail_kernel import result_dtype, uint8
from dovetail_kernel.types.dtype import COMPLEX

from .capabilities import Capabilities
from .operands import Numbers, Precision
from .table import KernelTable

_UFUNCS = {
    "neg": "negative",
    "sqrt": "sqrt",
    "exp": "exp",
    "exp2": "exp2",
    "expm1": "expm1",
    "log": "log",
    "log2": "log2",
    "log10": "log10",
    "log1p": "log1p",
    "sin": "sin",
    "cos": "cos",
    "tan": "tan",
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "sinh": "sinh",
    "cosh": "cosh",
    "tanh": "tanh",
    "asinh": "arcsinh",
    "acosh": "arccosh",
    "atanh": "arctanh",
    "reciprocal": "reciprocal",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "atan2": "arctan2",
    "hypot": "hypot",
    "maximum": "maximum",
    "minimum": "minimum",
    "mul.Tensor": "multiply",
    "div.Tensor": "true_divide",
}
"""Operators that are a function of the array namespace, and nothing else."""

_ONE_ARGUMENT_OF_ANY_DTYPE = {"abs": "absolute", "isnan": "isnan", "isinf": "isinf"}
"""The same, but with results of another dtype than the operands, so that they cannot be written
into one of them.
"""


def define(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    """Define the kernels of this family."""
    for name, function in _UFUNCS.items():
        kernel(name, getattr(xp, function), into=getattr(xp, function))
    for name, function in _ONE_ARGUMENT_OF_ANY_DTYPE.items():
        kernel(name, getattr(xp, function))
    _define_sums(xp, kernel, capabilities)
    _define_quotients(xp, kernel, capabilities)
    _define_powers(xp, kernel, capabilities)
    _define_functions(xp, kernel, capabilities)
    _define_complex(xp, kernel, capabilities)
    _define_choices(xp, kernel, capabilities)


def _define_sums(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    numbers, precision = Numbers(capabilities), Precision(capabilities)
    add, subtract, multiply = xp.add, xp.subtract, xp.multiply

    def check_alpha(alpha: Any, dtype: Any) -> None:
        if isinstance(alpha, bool) and dtype != xp.bool_:
            raise RuntimeError("Boolean alpha only supported for Boolean results. Give an int.")
        if isinstance(alpha, float | complex) and dtype in precision.integral:
            raise RuntimeError(
                "For integral input tensors, argument alpha must not be a floating point number. "
                "Give an int, or convert the tensor first."
            )
        if isinstance(alpha, complex) and dtype not in precision.complex:
            raise RuntimeError(
                "For non-complex input tensors, argument alpha must not be a complex number. "
                "Convert the tensor first."
            )

    def scaled(array: Any, alpha: Any) -> Any:
        if alpha == 1 and alpha is not True:
            return array
        if not hasattr(array, "dtype"):
            return array * alpha
        check_alpha(alpha, array.dtype)
        return multiply(array, numbers.like(array, alpha))

    def times(array: Any, value: Any) -> Any:
        return array if value == 1 else multiply(array, numbers.fitting(array, value))

    def scaled_number(array: Any, number: Any, alpha: Any) -> Any:
        if alpha == 1 and alpha is not True:
            return number
        own = numbers.pair(array, number)[0].dtype
        check_alpha(alpha, own)
        return number * alpha

    @kernel.named("add.Tensor", plain=add, into=add)
    def add_(self: Any, other: Any, *, alpha: Any = 1) -> Any:
        return add(self, scaled(other, alpha))

    @kernel.named("sub.Tensor", plain=subtract, into=subtract)
    def sub(self: Any, other: Any, *, alpha: Any = 1) -> Any:
        return subtract(self, scaled(other, alpha))

    @kernel.named("rsub.Tensor")
    def rsub(self: Any, other: Any, *, alpha: Any = 1) -> Any:
        return subtract(other, scaled(self, alpha))

    @kernel.named("add.Scalar")
    def add_number(self: Any, other: Any, alpha: Any = 1) -> Any:
        return add(*numbers.pair(self, scaled_number(self, other, alpha)))

    @kernel.named("sub.Scalar")
    def sub_number(self: Any, other: Any, alpha: Any = 1) -> Any:
        return subtract(*numbers.pair(self, scaled_number(self, other, alpha)))

    @kernel.named("rsub.Scalar")
    def rsub_number(self: Any, other: Any, alpha: Any = 1) -> Any:
        array, number = numbers.pair(self, other)
        return subtract(number, scaled(array, alpha))

    @kernel.named("mul.Scalar")
    def mul_number(self: Any, other: Any) -> Any:
        return multiply(*numbers.pair(self, other))

    @kernel.named("addcmul")
    def addcmul(self: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
        return add(self, times(multiply(tensor1, tensor2), value))

    @kernel.named("addcdiv")
    def addcdiv(self: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
        if tensor1.dtype in precision.integral and tensor2.dtype in precision.integral:
            raise RuntimeError(
                "Integer division with addcdiv is no longer supported. Use "
                "self + value * trunc(tensor1 / tensor2), or convert to a floating-point dtype."
            )
        return add(self, times(xp.true_divide(tensor1, tensor2), value))

    @kernel.named("lerp.Tensor")
    @precision.widened
    def lerp(self: Any, end: Any, weight: Any) -> Any:
        # From the nearer end, so that a weight of 1 gives `end` exactly.
        step = subtract(end, self)
        one = numbers.like(weight, 1)
        near = xp.absolute(weight) < numbers.of_dtype(0.5, xp.absolute(weight).dtype)
        return xp.where(near, add(self, weight * step), subtract(end, step * subtract(one, weight)))

    @kernel.named("lerp.Scalar")
    @precision.widened
    def lerp_number(self: Any, end: Any, weight: Any) -> Any:
        step = subtract(end, self)
        if abs(weight) < 0.5:
            return add(self, multiply(step, numbers.like(step, weight)))
        return subtract(end, multiply(step, numbers.like(step, 1 - weight)))


def _define_quotients(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    numbers, precision = Numbers(capabilities), Precision(capabilities)
    divide, floor_divide, multiply, trunc = xp.true_divide, xp.floor_divide, xp.multiply, xp.trunc

    def check_divisor(array: Any, divisor: Any) -> None:
        if array.size and array.dtype in precision.integral and bool(xp.any(divisor == 0)):
            raise RuntimeError(
                "ZeroDivisionError: division of an integer by zero. Convert to a floating-point "
                "dtype."
            )

    def divide_mode(self: Any, other: Any, rounding_mode: str | None) -> Any:
        if rounding_mode is not None and self.dtype == xp.bool_ and other.dtype == xp.bool_:
            raise NotImplementedError(
                f"\"div_{rounding_mode}\" not implemented for 'Bool'. Convert to a number dtype."
            )
        if rounding_mode is None:
            return divide(numbers.as_float(self), numbers.as_float(other))
        if rounding_mode == "trunc":
            if self.dtype not in precision.integral:
                return trunc(divide(self, other))
            check_divisor(self, other)
            quotient = floor_divide(self, other)
            inexact = multiply(quotient, other) != self
            return quotient + xp.logical_and(inexact, quotient < 0).astype(self.dtype)
        if rounding_mode == "floor":
            check_divisor(self, other)
            return floor_divide(self, other)
        raise RuntimeError(
            "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
            f"'{rounding_mode}'"
        )

    @kernel.named("div.Scalar")
    def div_number(self: Any, other: Any) -> Any:
        return divide(*numbers.pair(numbers.as_float(self), other))

    @kernel.named("div.Tensor_mode", "div.Scalar_mode")
    def div_mode(self: Any, other: Any, *, rounding_mode: str | None) -> Any:
        return divide_mode(*numbers.pair(self, other), rounding_mode)

    @kernel.helper("div")
    def div(self: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
        return (
            divide(self, other)
            if rounding_mode is None
            else divide_mode(self, other, rounding_mode)
        )

    @kernel.named("floor_divide", "floor_divide.Scalar")
    def floor_divide_(self: Any, other: Any) -> Any:
        return divide_mode(*numbers.pair(self, other), "floor")

    @kernel.named("remainder.Tensor", "remainder.Scalar")
    def remainder(self: Any, other: Any) -> Any:
        self, other = numbers.pair(self, other)
        check_divisor(self, other)
        return xp.remainder(self, other)

    @kernel.named("fmod.Tensor", "fmod.Scalar")
    def fmod(self: Any, other: Any) -> Any:
        self, other = numbers.pair(self, other)
        check_divisor(self, other)
        return xp.fmod(self, other)


def _define_powers(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    numbers, precision = Numbers(capabilities), Precision(capabilities)
    multiply, power = xp.multiply, xp.power

    def power_of_number(self: Any, exponent: Any) -> Any:
        self, number = numbers.pair(self, exponent)
        if exponent == 2:
            return multiply(self, self)
        if self.dtype in precision.integral:
            if exponent < 0:
                raise RuntimeError(
                    "Integers to negative integer powers are not allowed. Convert to a "
                    "floating-point dtype."
                )
            return power(self, number).astype(self.dtype, copy=False)
        if exponent == 0.5:
            return xp.sqrt(self)
        if exponent == 3:
            return multiply(multiply(self, self), self)
        if exponent == -1:
            return xp.reciprocal(self)
        if exponent == -2:
            return xp.reciprocal(multiply(self, self))
        if exponent == -0.5:
            return xp.reciprocal(xp.sqrt(self))
        return power(self, number)

    def power_of_arrays(self: Any, exponent: Any) -> Any:
        if exponent.dtype not in precision.integral:
            return power(self, exponent)
        negative = exponent < 0
        if not bool(xp.any(negative)):
            return power(self, exponent).astype(exponent.dtype, copy=False)
        # An integer to a negative power is 0, but for 1 and -1.
        zero, one = numbers.like(exponent, 0), numbers.like(exponent, 1)
        result = power(self, xp.where(negative, zero, exponent))
        odd = xp.remainder(exponent, numbers.like(exponent, 2)) == 1
        minus = xp.where(xp.logical_and(self == -1, odd), numbers.like(exponent, -1), one)
        small = xp.where(xp.absolute(self) == 1, xp.where(self == 1, one, minus), zero)
        return xp.where(negative, small, result)

    @kernel.named("pow.Tensor_Tensor")
    def pow_(self: Any, exponent: Any) -> Any:
        return (
            power_of_arrays(self, exponent)
            if hasattr(exponent, "dtype")
            else power_of_number(self, exponent)
        )

    kernel("pow.Tensor_Scalar", power_of_number)

    @kernel.named("pow.Scalar")
    def pow_number(self: Any, exponent: Any) -> Any:
        exponent, base = numbers.pair(exponent, self)
        result = power_of_arrays(base, exponent)
        return capabilities.contiguous(result) if result.ndim > 1 else result


def _define_functions(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    numbers, precision = Numbers(capabilities), Precision(capabilities)
    integral, is_complex = precision.integral, precision.complex
    kernel("erf", capabilities.erf)
    kernel("erfc", capabilities.erfc)

    @kernel.named("sigmoid")
    @precision.widened
    def sigmoid(self: Any) -> Any:
        return xp.reciprocal(xp.exp(xp.negative(self)) + numbers.like(self, 1))

    @kernel.named("rsqrt")
    def rsqrt(self: Any) -> Any:
        return xp.reciprocal(xp.sqrt(self))

    @kernel.named("sign")
    def sign(self: Any) -> Any:
        if self.dtype == xp.bool_:
            return capabilities.clone(self)
        if self.dtype in integral:
            return xp.sign(self)
        return xp.subtract((self > 0).astype(self.dtype), (self < 0).astype(self.dtype))

    @kernel.named("sgn")
    def sgn(self: Any) -> Any:
        if self.dtype not in is_complex:
            return sign(self)
        size = xp.absolute(self)
        return xp.where(
            size == 0,
            numbers.like(self, 0),
            self / xp.where(size == 0, numbers.like(size, 1), size),
        )

    @kernel.named("round")
    def round_(self: Any) -> Any:
        return capabilities.clone(self) if self.dtype in integral else xp.rint(self)

    @kernel.named("frac")
    def frac(self: Any) -> Any:
        return xp.subtract(self, xp.trunc(self))

    @kernel.named("nan_to_num")
    def nan_to_num(
        self: Any,
        nan: float | None = None,
        posinf: float | None = None,
        neginf: float | None = None,
    ) -> Any:
        if self.dtype in integral:
            return capabilities.clone(self)
        least, greatest = capabilities.finfo(self.real.dtype)

        def replaced(x: Any) -> Any:
            x = xp.where(xp.isnan(x), numbers.like(x, nan or 0.0), x)
            x = xp.where(x == math.inf, numbers.like(x, greatest if posinf is None else posinf), x)
            return xp.where(x == -math.inf, numbers.like(x, least if neginf is None else neginf), x)

        if self.dtype in is_complex:
            return (replaced(self.real) + numbers.like(self, 1j) * replaced(self.imag)).astype(
                self.dtype, copy=False
            )
        return replaced(self)

    @kernel.named("xlogy.Tensor")
    def xlogy(self: Any, other: Any) -> Any:
        one = numbers.like(other, 1)
        none = xp.logical_and(self == 0, xp.logical_not(xp.isnan(other)))
        product = xp.multiply(self, xp.log(xp.where(none, one, other)))
        return xp.where(none, numbers.like(product, 0), product)


def _define_complex(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    numbers, precision = Numbers(capabilities), Precision(capabilities)
    is_complex = precision.complex

    @kernel.named("_conj_physical")
    def conj_physical(self: Any) -> Any:
        return xp.conjugate(self) if self.dtype in is_complex else capabilities.clone(self)

    @kernel.helper("conj")
    def conj(self: Any) -> Any:
        return xp.conjugate(self) if getattr(self, "dtype", None) in is_complex else self

    @kernel.helper("real")
    def real(self: Any) -> Any:
        return self.real if getattr(self, "dtype", None) in is_complex else self

    real_logaddexp = xp.logaddexp
    nan = complex(math.nan, math.nan)

    @kernel.named("logaddexp")
    def logaddexp(self: Any, other: Any) -> Any:
        if self.dtype not in is_complex:
            return real_logaddexp(self, other)
        self, other = xp.broadcast_arrays(self, other)
        swapped = self.real < other.real
        greater, lesser = xp.where(swapped, other, self), xp.where(swapped, self, other)
        result = greater + xp.log1p(xp.exp(lesser - greater))
        # The difference of two infinities says nothing.
        infinite = (self.real == other.real) & xp.isinf(self.real)
        if infinite.any():
            both = xp.where(self.real < 0, other, xp.log(xp.exp(self) + xp.exp(other)))
            result = xp.where(infinite, both, result)
        return xp.where(xp.isnan(self) | xp.isnan(other), numbers.like(result, nan), result)

    @kernel.named("angle")
    def angle(self: Any) -> Any:
        if capabilities.dtypes[self.dtype].category == COMPLEX:
            return xp.arctan2(self.imag, self.real)
        self = numbers.as_float(self)
        result = xp.where(self < 0, numbers.like(self, math.pi), numbers.like(self, 0))
        return xp.where(xp.isnan(self), self, result)


def _define_choices(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    numbers = Numbers(capabilities)
    maximum, minimum, where = xp.maximum, xp.minimum, xp.where
    contiguous, boolean = capabilities.contiguous, capabilities.native_dtypes[bool_]

    def promoted(*operands: Any) -> list[Any]:
        """Return an array and its bounds with the array, and bounds that are arrays, in their
        common dtype.
        """
        arrays = [each for each in operands if hasattr(each, "dtype")]
        if len({each.dtype for each in arrays}) > 1:
            common = result_dtype(
                [capabilities.dtypes[each.dtype] for each in arrays if each.ndim],
                [capabilities.dtypes[each.dtype] for each in arrays if not each.ndim],
            )
            native = capabilities.native_dtypes[common]
            operands = tuple(
                [each.astype(native) if hasattr(each, "dtype") else each for each in operands]
            )
        self, *bounds = operands
        kind = capabilities.dtypes[self.dtype]
        if kind.category == COMPLEX:
            raise NotImplementedError(
                f"\"clamp\" not implemented for '{kind.scalar_name}': complex numbers have no "
                "order. Clamp real parts."
            )
        for bound in bounds:
            if bound is not None:
                self = numbers.pair(self, bound)[0]
        return [self, *bounds]

    @kernel.named("clamp", "clamp.Tensor")
    def clamp(self: Any, min: Any = None, max: Any = None) -> Any:
        if min is None and max is None:
            raise RuntimeError(
                "torch.clamp: At least one of 'min' or 'max' must not be None. Give a bound."
            )
        self, min, max = promoted(self, min, max)
        if min is not None:
            self = maximum(*numbers.pair(self, min))
        return self if max is None else minimum(*numbers.pair(self, max))

    @kernel.named("clamp_min", "clamp_min.Tensor")
    def clamp_min(self: Any, min: Any) -> Any:
        return maximum(*numbers.pair(self, min))

    @kernel.named("clamp_max", "clamp_max.Tensor")
    def clamp_max(self: Any, max: Any) -> Any:
        return minimum(*numbers.pair(self, max))

    @kernel.named("where.self")
    def where_(condition: Any, self: Any, other: Any) -> Any:
        kind = capabilities.dtypes[condition.dtype]
        if kind is uint8:
            condition = condition != 0
        elif kind is not bool_:
            raise RuntimeError(
                "where expected condition to be a boolean tensor, but got a tensor with dtype "
                f"{kind.scalar_name}. "
                "Convert it: condition != 0."
            )
        return where(condition, self, other)

    def fill(self: Any, mask: Any, value: Any) -> Any:
        if mask.dtype != boolean:
            name = capabilities.dtypes[mask.dtype].scalar_name
            raise RuntimeError(
                f"masked_fill only supports boolean masks, but got mask with dtype {name}. "
                "Convert it: mask != 0."
            )
        result = where(mask, value, self)
        # In C order, as PyTorch fills a contiguous copy.
        return contiguous(result) if result.ndim > 1 else result

    @kernel.named("masked_fill.Scalar")
    def masked_fill(self: Any, mask: Any, value: Any) -> Any:
        return fill(self, mask, numbers.fitting(self, value))

    @kernel.named("masked_fill.Tensor")
    def masked_fill_array(self: Any, mask: Any, value: Any) -> Any:
        if value.ndim:
            raise RuntimeError(
                "masked_fill only supports a 0-dimensional value tensor, but got tensor with "
                f"{value.ndim} dimension(s). Use where(mask, value, self)."
            )
        return fill(self, mask, value.astype(self.dtype, copy=False))
