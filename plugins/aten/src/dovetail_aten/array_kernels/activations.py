"""Activation functions, each beside its backward kernel."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dovetail_kernel import int8, int16, int32, int64
from dovetail_kernel.types.dtype import COMPLEX, FLOAT

from .capabilities import Capabilities
from .dims import wrap_dim
from .dtype_errors import float_only
from .memory_order import in_c_order
from .operands import Numbers, Precision
from .table import KernelTable

_SQRT_HALF = math.sqrt(0.5)
_INV_SQRT_TWO_PI = 1 / math.sqrt(2 * math.pi)
_TANH_SCALE = math.sqrt(2 / math.pi)
_TANH_CUBIC = 0.044715
_FEW = 4096
"""Elements up to which a choice by a mask is fastest as ``where``, which stumbles over masks it
cannot predict.
"""


class PerDtype(dict[Any, Any]):
    """What `make` returns for a native dtype, made once: constants, found by one look-up."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, native_dtype: Any) -> Any:
        made = self[native_dtype] = self._make(native_dtype)
        return made


def define(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    """Define the kernels of this family."""
    choose, keep = _choices(xp, capabilities)
    _define_rectifiers(xp, kernel, capabilities, keep)
    _define_leaks(xp, kernel, capabilities, choose, keep)
    _define_sigmoids(xp, kernel, capabilities, choose)
    _define_gelu(xp, kernel, capabilities)
    _define_softmax(xp, kernel, capabilities)


def _choices(xp: Any, capabilities: Capabilities) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return ``choose(mask, a, b)``, which is ``where``, and ``keep(mask, a)``, which puts zeros
    elsewhere.

    On many elements they work on the bits of the numbers, so that inf and NaN on the other side of
    the mask vanish.
    """
    native, where, xor = capabilities.native_dtypes, xp.where, xp.bitwise_xor
    integers = {1: native[int8], 2: native[int16], 4: native[int32], 8: native[int64]}
    numbers = Numbers(capabilities)
    zeros = PerDtype(lambda own: numbers.of_dtype(0, own))

    def choose(mask: Any, a: Any, b: Any) -> Any:
        own = a.dtype
        if mask.size <= _FEW or own != b.dtype or own.itemsize not in integers:
            return where(mask, a, b)
        bits = integers[own.itemsize]
        other = b.view(bits)
        return xor(xor(a.view(bits), other) * mask, other).view(own)

    def keep(mask: Any, a: Any) -> Any:
        own = a.dtype
        if mask.size <= _FEW // 4 or own.itemsize not in integers:
            return where(mask, a, zeros[own])
        return (a.view(integers[own.itemsize]) * mask).view(own)

    return choose, keep


def _define_rectifiers(
    xp: Any, kernel: KernelTable, capabilities: Capabilities, keep: Callable[..., Any]
) -> None:
    """Define relu, threshold and hardtanh."""
    numbers, precision, dtypes = Numbers(capabilities), Precision(capabilities), capabilities.dtypes
    maximum, minimum = xp.maximum, xp.minimum

    def zero_of_relu(own: Any) -> Any:
        if own == xp.bool_:
            raise RuntimeError("Boolean inputs not supported for relu. Convert the tensor first.")
        if dtypes[own].category == COMPLEX:
            raise NotImplementedError(
                "clamp is not supported for complex types. Take the real part."
            )
        return numbers.of_dtype(0, own)

    zeros = PerDtype(zero_of_relu)
    ones = PerDtype(lambda own: numbers.of_dtype(1, own))

    def own_number(array: Any, value: Any) -> Any:
        """Return `value` in the dtype of `array`; an integer array cuts fractions off."""
        if array.dtype in precision.integral:
            return numbers.like(array, int(value) if math.isfinite(value) else value)
        return numbers.like(array, value)

    @kernel.named("relu")
    def relu(self: Any) -> Any:
        return maximum(self, zeros[self.dtype])

    @kernel.named("threshold")
    def threshold(self: Any, threshold: Any, value: Any) -> Any:
        return xp.where(
            xp.less_equal(self, numbers.fitting(self, threshold)),
            numbers.fitting(self, value),
            self,
        )

    @kernel.named("threshold_backward")
    def threshold_backward(grad_output: Any, self: Any, threshold: Any) -> Any:
        bound = own_number(self, threshold) if threshold else zeros[self.dtype]
        # Not "greater": the gradient passes where the input is NaN.
        return keep(xp.logical_not(xp.less_equal(self, bound)), grad_output)

    def check_hardtanh(own: Any, min_val: Any, max_val: Any) -> None:
        if own == xp.bool_:
            raise NotImplementedError(
                "Bool inputs not supported for hardtanh. Convert the tensor first."
            )
        if own in precision.integral and not dtypes[own].is_signed and (min_val < 0 or max_val < 0):
            raise RuntimeError(
                "cannot do hardtanh on an unsigned type with negative limits. Convert the tensor "
                "first."
            )

    @kernel.named("hardtanh")
    def hardtanh(self: Any, min_val: Any = -1, max_val: Any = 1) -> Any:
        if self.dtype in precision.integral:
            check_hardtanh(self.dtype, min_val, max_val)
        return minimum(maximum(self, own_number(self, min_val)), own_number(self, max_val))

    @kernel.named("hardtanh_backward")
    def hardtanh_backward(grad_output: Any, self: Any, min_val: Any, max_val: Any) -> Any:
        if min_val == -1 and max_val == 1:
            outside = xp.greater_equal(xp.absolute(self), ones[self.dtype])
        else:
            below, above = own_number(self, min_val), own_number(self, max_val)
            outside = xp.logical_or(xp.less_equal(self, below), xp.greater_equal(self, above))
        return keep(xp.logical_not(outside), grad_output)


def _define_leaks(
    xp: Any,
    kernel: KernelTable,
    capabilities: Capabilities,
    choose: Callable[..., Any],
    keep: Callable[..., Any],
) -> None:
    """Define leaky_relu, prelu and elu: something smaller takes the place of negative numbers."""
    numbers, precision, check_float = (
        Numbers(capabilities),
        Precision(capabilities),
        float_only(capabilities),
    )
    maximum, minimum, multiply = xp.maximum, xp.minimum, xp.multiply
    zeros = PerDtype(lambda own: numbers.of_dtype(0, own))

    @kernel.named("leaky_relu")
    @precision.widened
    def leaky_relu(self: Any, negative_slope: Any = 0.01) -> Any:
        check_float("leaky_relu_cpu", self)
        leak = multiply(self, numbers.like(self, negative_slope))
        # A slope of 0 makes NaN of infinity.
        return (
            maximum(self, leak)
            if 0 < negative_slope <= 1
            else choose(self > zeros[self.dtype], self, leak)
        )

    def check_invertible(name: str, slope: Any) -> None:
        if slope < 0:
            raise RuntimeError(
                f"In-place {name} backward calculation is triggered with a negative slope which "
                "is not supported. "
                "This is caused by calling in-place forward function with a negative slope, "
                "please call out-of-place "
                "version instead."
            )

    @kernel.named("leaky_relu_backward")
    @precision.widened
    def leaky_relu_backward(
        grad_output: Any, self: Any, negative_slope: Any, self_is_result: bool
    ) -> Any:
        if self_is_result:
            check_invertible("leakyReLu", negative_slope)
        leak = multiply(grad_output, numbers.like(grad_output, negative_slope))
        return choose(self > zeros[self.dtype], grad_output, leak)

    @kernel.named("_prelu_kernel")
    @precision.widened
    def prelu(self: Any, weight: Any) -> Any:
        check_float("prelu_cpu", self)
        return choose(self > zeros[self.dtype], self, multiply(self, weight))

    @kernel.named("_prelu_kernel_backward")
    @precision.widened
    def prelu_backward(grad_output: Any, self: Any, weight: Any) -> tuple[Any, Any]:
        positive = self > zeros[self.dtype]
        to_self = choose(positive, grad_output, multiply(weight, grad_output))
        return to_self, keep(xp.logical_not(positive), multiply(self, grad_output))

    @precision.widened
    def plain_elu(self: Any) -> Any:
        check_float("elu_cpu", self)
        # exp(x) - 1 is never less than x, and equal to it at 0.
        return maximum(self, xp.expm1(minimum(self, zeros[self.dtype])))

    @kernel.named("elu", plain=plain_elu)
    @precision.widened
    def elu(self: Any, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Any:
        if alpha == scale == input_scale == 1:
            return plain_elu(self)
        check_float("elu_cpu", self)
        bounded = multiply(minimum(self, zeros[self.dtype]), numbers.like(self, input_scale))
        negative = multiply(xp.expm1(bounded), numbers.like(self, alpha * scale))
        return choose(self < zeros[self.dtype], negative, multiply(self, numbers.like(self, scale)))

    @kernel.named("elu_backward")
    @precision.widened
    def elu_backward(
        grad_output: Any,
        alpha: Any,
        scale: Any,
        input_scale: Any,
        is_result: bool,
        self_or_result: Any,
    ) -> Any:
        x = self_or_result
        if is_result:
            check_invertible("elu", alpha)
            slope = multiply(x + numbers.like(x, alpha * scale), numbers.like(x, input_scale))
        else:
            bounded = multiply(minimum(x, zeros[x.dtype]), numbers.like(x, input_scale))
            slope = multiply(xp.exp(bounded), numbers.like(x, input_scale * alpha * scale))
        straight = (
            grad_output if scale == 1 else multiply(grad_output, numbers.like(grad_output, scale))
        )
        return choose(x <= zeros[x.dtype], multiply(grad_output, slope), straight)


def _define_sigmoids(
    xp: Any, kernel: KernelTable, capabilities: Capabilities, choose: Callable[..., Any]
) -> None:
    """Define silu, softplus, log_sigmoid, and the gradients of sigmoid and tanh."""
    numbers, precision, check_float = (
        Numbers(capabilities),
        Precision(capabilities),
        float_only(capabilities),
    )
    exp, add, multiply, subtract, divide, negative = (
        *(xp.exp, xp.add, xp.multiply),
        *(xp.subtract, xp.true_divide, xp.negative),
    )
    zeros = PerDtype(lambda own: numbers.of_dtype(0, own))
    ones = PerDtype(lambda own: numbers.of_dtype(1, own))

    def logistic(numerator: Any, x: Any) -> Any:
        """Return ``numerator / (1 + exp(-x))``, which overflow of the power takes to the right
        limits.
        """
        return divide(numerator, add(exp(negative(x)), ones[x.dtype]))

    @kernel.named("sigmoid_backward")
    @precision.widened
    def sigmoid_backward(grad_output: Any, output: Any) -> Any:
        slope = multiply(subtract(ones[output.dtype], output), output)
        return multiply(
            grad_output, xp.conjugate(slope) if output.dtype in precision.complex else slope
        )

    @kernel.named("tanh_backward")
    @precision.widened
    def tanh_backward(grad_output: Any, output: Any) -> Any:
        slope = subtract(ones[output.dtype], multiply(output, output))
        return multiply(
            grad_output, xp.conjugate(slope) if output.dtype in precision.complex else slope
        )

    @kernel.named("silu")
    @precision.widened
    def silu(self: Any) -> Any:
        check_float("silu_cpu", self)
        return logistic(self, self)

    @kernel.named("silu_backward")
    @precision.widened
    def silu_backward(grad_output: Any, self: Any) -> Any:
        one = ones[self.dtype]
        sigmoid = logistic(one, self)
        slope = multiply(sigmoid, add(multiply(self, subtract(one, sigmoid)), one))
        return multiply(
            grad_output, xp.conjugate(slope) if self.dtype in precision.complex else slope
        )

    @kernel.named("softplus")
    @precision.widened
    def softplus(self: Any, beta: Any = 1, threshold: Any = 20) -> Any:
        check_float("softplus_cpu", self)
        if beta == 1:
            return choose(self > numbers.like(self, threshold), self, xp.log1p(exp(self)))
        scale = numbers.like(self, beta)
        scaled = multiply(self, scale)
        return choose(
            scaled > numbers.like(self, threshold), self, divide(xp.log1p(exp(scaled)), scale)
        )

    @kernel.named("softplus_backward")
    @precision.widened
    def softplus_backward(grad_output: Any, self: Any, beta: Any, threshold: Any) -> Any:
        scaled = self if beta == 1 else multiply(self, numbers.like(self, beta))
        return choose(
            scaled > numbers.like(self, threshold), grad_output, logistic(grad_output, scaled)
        )

    @kernel.named("log_sigmoid_forward")
    @precision.widened
    def log_sigmoid_forward(self: Any) -> tuple[Any, Any]:
        check_float("log_sigmoid_cpu", self)
        buffer = exp(negative(xp.absolute(self)))
        return subtract(xp.minimum(self, zeros[self.dtype]), xp.log1p(buffer)), buffer

    @kernel.named("log_sigmoid_backward")
    @precision.widened
    def log_sigmoid_backward(grad_output: Any, self: Any, buffer: Any) -> Any:
        # Computing the power again takes fewer passes than telling the signs apart, which `buffer`
        # has lost.
        return divide(grad_output, add(exp(self), ones[self.dtype]))


def _define_gelu(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    numbers, precision, check_float = (
        Numbers(capabilities),
        Precision(capabilities),
        float_only(capabilities),
    )
    erf, exp, add, multiply, subtract = capabilities.erf, xp.exp, xp.add, xp.multiply, xp.subtract

    def constants(*values: float) -> PerDtype:
        return PerDtype(lambda own: tuple([numbers.of_dtype(value, own) for value in values]))

    of_erf = constants(1, 0.5, _SQRT_HALF)
    of_density = constants(-0.5, _INV_SQRT_TWO_PI)
    # The formula with tanh is x * sigmoid(2 u), which loses no digits where tanh is near -1.
    of_sigmoid = constants(1, -2 * _TANH_SCALE, -2 * _TANH_SCALE * _TANH_CUBIC)
    of_slope = constants(2 * _TANH_SCALE, 6 * _TANH_SCALE * _TANH_CUBIC)

    def power(self: Any, square: Any) -> Any:
        """Return ``1 + exp(-2 u)`` for u = sqrt(2 / pi) (x + 0.044715 x³)."""
        one, linear, cubic = of_sigmoid[self.dtype]
        return add(exp(multiply(self, add(multiply(square, cubic), linear))), one)

    def is_tanh(approximate: str) -> bool:
        if approximate not in ("none", "tanh"):
            raise RuntimeError("approximate argument must be either none or tanh.")
        return approximate == "tanh"

    @precision.widened
    def exact(self: Any) -> Any:
        check_float("GeluKernelImpl", self)
        one, half, scale = of_erf[self.dtype]
        return multiply(multiply(self, half), add(erf(multiply(self, scale)), one))

    @kernel.named("gelu", plain=exact)
    @precision.widened
    def gelu(self: Any, *, approximate: str = "none") -> Any:
        if not is_tanh(approximate):
            return exact(self)
        check_float("GeluKernelImpl", self)
        return xp.true_divide(self, power(self, multiply(self, self)))

    @kernel.named("gelu_backward")
    @precision.widened
    def gelu_backward(grad_output: Any, self: Any, *, approximate: str = "none") -> Any:
        check_float("GeluBackwardKernelImpl", self)
        one, half, scale = of_erf[self.dtype]
        square = multiply(self, self)
        if is_tanh(approximate):
            linear, cubic = of_slope[self.dtype]
            sigmoid = xp.reciprocal(power(self, square))
            inner = multiply(
                multiply(self, subtract(one, sigmoid)), add(multiply(square, cubic), linear)
            )
            return multiply(grad_output, multiply(sigmoid, add(inner, one)))
        exponent, top = of_density[self.dtype]
        share = multiply(add(erf(multiply(self, scale)), one), half)
        return multiply(
            grad_output, add(share, multiply(exp(multiply(square, exponent)), multiply(self, top)))
        )


def _define_softmax(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    precision, dtypes = Precision(capabilities), capabilities.dtypes
    exp, log, subtract, multiply, divide = xp.exp, xp.log, xp.subtract, xp.multiply, xp.true_divide
    halves, single = precision.halves, precision.single
    full = frozenset(each for each, dtype in dtypes.items() if dtype.category == FLOAT) - halves
    ordered = in_c_order(capabilities)

    def refuse(name: str, own: Any, half_to_float: bool) -> None:
        if own not in full and own not in halves:
            raise NotImplementedError(
                f"\"{name}_lastdim_kernel_impl\" not implemented for '{dtypes[own].scalar_name}'. "
                "Convert to a floating-point dtype first."
            )
        if half_to_float and own not in halves:
            raise RuntimeError(
                "conversion is supported for Half type only. Pass half_to_float=False."
            )

    def axis_of(self: Any, dim: int) -> int | None:
        axis = wrap_dim(dim, self.ndim)
        return axis if self.ndim else None

    def softmax_of(self: Any, dim: int) -> Any:
        axis = axis_of(self, dim)
        if not self.size:
            return capabilities.clone(self)
        powers = exp(subtract(self, self.max(axis, None, True)))
        return divide(powers, powers.sum(axis, None, None, True))

    def log_softmax_of(self: Any, dim: int) -> Any:
        axis = axis_of(self, dim)
        if not self.size:
            return capabilities.clone(self)
        away = subtract(self, self.max(axis, None, True))
        return subtract(away, log(exp(away).sum(axis, None, None, True)))

    def define_forward(name: str, function: Callable[[Any, int], Any]) -> None:
        @kernel.named(f"_{name}")
        def forward(self: Any, dim: int, half_to_float: bool) -> Any:
            own = self.dtype
            if own in full and not half_to_float:
                return ordered(function(self, dim))
            axis_of(self, dim)
            if not self.size and dtypes[own].category < FLOAT and not half_to_float:
                return capabilities.clone(self)
            refuse(name, own, half_to_float)
            result = ordered(function(self.astype(single), dim))
            return result if half_to_float else result.astype(own)

    define_forward("softmax", softmax_of)
    define_forward("log_softmax", log_softmax_of)

    def softmax_gradient(grad: Any, output: Any, axis: int | None) -> Any:
        product = multiply(grad, output)
        return subtract(product, multiply(output, product.sum(axis, None, None, True)))

    def log_softmax_gradient(grad: Any, output: Any, axis: int | None) -> Any:
        return subtract(grad, multiply(exp(output), grad.sum(axis, None, None, True)))

    def define_backward(name: str, gradient: Callable[[Any, Any, int | None], Any]) -> None:
        @kernel.named(f"_{name}_backward_data")
        def backward(grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
            axis = axis_of(output, dim)
            if output.dtype in halves:
                grad_output, output = grad_output.astype(single), output.astype(single)
            result = ordered(gradient(grad_output, output, axis))
            return result if result.dtype == input_dtype else result.astype(input_dtype)

    define_backward("softmax", softmax_gradient)
    define_backward("log_softmax", log_softmax_gradient)
