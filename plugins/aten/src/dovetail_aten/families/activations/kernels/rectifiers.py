"""Activation functions that rectify, each beside its backward kernel: relu and its kin."""

from __future__ import annotations

from typing import Any

from dovetail_kernel.types import COMPLEX

from ....kernel_support.family import Family, operator, widened
from ....kernel_support.operands import check_representable
from ....kernel_support.table import KernelTable
from ....typing import Array, Scalar


class Rectifiers(Family):
    """relu, threshold, hardtanh, leaky_relu, prelu, elu and celu."""

    def define_in(self, kernel: KernelTable) -> None:
        """Define the kernels; elu has a separate form for its default factors."""
        super().define_in(kernel)
        kernel("elu", self.elu, fast_path=self.plain_elu)

    def _zero_of_relu(self, x: Array) -> Any:
        """Return the 0 that relu compares with."""
        own = x.dtype
        if own == self.xp.bool_:
            raise RuntimeError("Boolean inputs not supported for relu. Convert the tensor first.")
        if self.dtypes[own].category == COMPLEX:
            raise NotImplementedError(
                "clamp is not supported for complex types. Take the real part."
            )
        return self.numbers.like(x, 0)

    def _own_number(self, array: Array, value: Any) -> Any:
        """Return `value` in the dtype of `array`; an integer array cuts fractions off."""
        if array.dtype in self.precision.integral:
            check_representable(value, self.dtypes[array.dtype])
            return self.numbers.like(array, int(value))
        return self.numbers.like(array, value)

    @operator("relu")
    def relu(self, x: Array) -> Any:
        """Return ``max(x, 0)``."""
        # Of equal operands, 0 and -0, namespaces return the second.
        return self.xp.maximum(self._zero_of_relu(x), x)

    @operator("threshold")
    def threshold(self, x: Array, threshold: object, value: object) -> Any:
        """Return `x` where it is greater than `threshold`, else `value`."""
        xp = self.xp
        return xp.where(
            xp.less_equal(x, self.numbers.fitting(x, threshold)), self.numbers.fitting(x, value), x
        )

    @operator("threshold_backward")
    def threshold_backward(self, grad_output: Array, x: Array, threshold: int) -> Any:
        """Return the gradient of `threshold` and, with a bound of 0, of `relu`."""
        xp = self.xp
        bound = self._own_number(x, threshold) if threshold else self._zero_of_relu(x)
        # Not "greater": the gradient passes where the input is NaN.
        return xp.where(
            xp.logical_not(xp.less_equal(x, bound)), grad_output, self.numbers.like(grad_output, 0)
        )

    def _check_hardtanh(self, own: Any, min_val: Any, max_val: Any) -> None:
        """Raise an error for bools, and negative limits of unsigned integers."""
        if own == self.xp.bool_:
            raise NotImplementedError(
                "Bool inputs not supported for hardtanh. Convert the tensor first."
            )
        is_unsigned = own in self.precision.integral and not self.dtypes[own].is_signed
        if is_unsigned and (min_val < 0 or max_val < 0):
            raise RuntimeError(
                "cannot do hardtanh on an unsigned type with negative limits. Convert the tensor "
                "first."
            )

    @operator("hardtanh")
    def hardtanh(self, x: Array, min_val: Scalar = -1, max_val: Scalar = 1) -> Any:
        """Return ``min(max(x, min_val), max_val)``."""
        xp = self.xp
        if x.dtype in self.precision.integral:
            self._check_hardtanh(x.dtype, min_val, max_val)
        least, greatest = self._own_number(x, min_val), self._own_number(x, max_val)
        return xp.minimum(greatest, xp.maximum(least, x))

    @operator("hardtanh_backward")
    def hardtanh_backward(
        self, grad_output: Array, x: Array, min_val: Scalar, max_val: Scalar
    ) -> Any:
        """Return the gradient of `hardtanh`, which is nonzero strictly between the limits."""
        xp = self.xp
        if min_val == -1 and max_val == 1:
            outside = xp.greater_equal(xp.absolute(x), self.numbers.like(x, 1))
        else:
            below, above = self._own_number(x, min_val), self._own_number(x, max_val)
            outside = xp.logical_or(xp.less_equal(x, below), xp.greater_equal(x, above))
        return xp.where(xp.logical_not(outside), grad_output, self.numbers.like(grad_output, 0))

    @operator("leaky_relu")
    @widened
    def leaky_relu(self, x: Array, negative_slope: Any = 0.01) -> Any:
        """Return `x` where it is positive, else ``negative_slope * x``."""
        self.check_float("leaky_relu_cpu", x)
        xp = self.xp
        leak = xp.multiply(x, self.numbers.like(x, negative_slope))
        # A slope of 0 makes NaN of infinity.
        return (
            xp.maximum(x, leak)
            if 0 < negative_slope <= 1
            else xp.where(x > self.numbers.like(x, 0), x, leak)
        )

    def _check_invertible(self, name: str, slope: Any) -> None:
        """Raise an error for a negative slope if the sign of the input is determined from the
        result.
        """
        if not slope >= 0:
            raise RuntimeError(
                f"In-place {name} backward calculation is triggered with a negative slope which "
                "is not supported. "
                "This is caused by calling in-place forward function with a negative slope, "
                "please call out-of-place "
                "version instead."
            )

    @operator("leaky_relu_backward")
    @widened
    def leaky_relu_backward(
        self, grad_output: Array, x: Array, negative_slope: object, self_is_result: bool
    ) -> Any:
        """Return the gradient of `leaky_relu`, from its input or its result."""
        if self_is_result:
            self._check_invertible("leakyReLu", negative_slope)
        leak = self.xp.multiply(grad_output, self.numbers.like(grad_output, negative_slope))
        return self.xp.where(x > self.numbers.like(x, 0), grad_output, leak)

    @operator("_prelu_kernel")
    @widened
    def prelu(self, x: Array, weight: Array) -> Any:
        """Return `x` where it is positive, else ``weight * x``."""
        self.check_float("prelu_cpu", x)
        return self.xp.where(x > self.numbers.like(x, 0), x, self.xp.multiply(x, weight))

    @operator("_prelu_kernel_backward")
    @widened
    def prelu_backward(self, grad_output: Array, x: Array, weight: Array) -> tuple[Any, Any]:
        """Return the gradients of `prelu`: of `x`, and of `weight` before it is summed."""
        xp = self.xp
        positive = x > self.numbers.like(x, 0)
        to_self = xp.where(positive, grad_output, xp.multiply(weight, grad_output))
        return to_self, xp.where(
            xp.logical_not(positive), xp.multiply(x, grad_output), self.numbers.like(x, 0)
        )

    @widened
    def plain_elu(self, x: Array) -> Any:
        """Return ``max(x, exp(x) - 1)``: elu with its default factors."""
        xp = self.xp
        self.check_float("elu_cpu", x)
        # exp(x) - 1 is never less than x, and equal to it at 0.
        return xp.maximum(xp.expm1(xp.minimum(x, self.numbers.like(x, 0))), x)

    @operator("elu")
    @widened
    def elu(self, x: Array, alpha: Scalar = 1, scale: Scalar = 1, input_scale: Scalar = 1) -> Any:
        """Return ``scale * x`` where `x` is positive, else ``scale * alpha * (exp(input_scale * x)
        - 1)``.
        """
        xp = self.xp
        if alpha == scale == input_scale == 1:
            return self.plain_elu(x)
        self.check_float("elu_cpu", x)
        bounded = xp.multiply(
            xp.minimum(x, self.numbers.like(x, 0)), self.numbers.like(x, input_scale)
        )
        negative = xp.multiply(xp.expm1(bounded), self.numbers.like(x, alpha * scale))
        return xp.where(
            x < self.numbers.like(x, 0), negative, xp.multiply(x, self.numbers.like(x, scale))
        )

    @operator("celu")
    def celu(self, x: Array, alpha: Scalar = 1.0) -> Any:
        """Return ``max(0, x) + min(0, alpha * (exp(x / alpha) - 1))`` (Barron 2017,
        arXiv:1704.07483).
        """
        if not alpha:
            raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU. Give another.")
        return self.elu(x, alpha, 1, 1 / alpha)

    @operator("elu_backward")
    @widened
    def elu_backward(
        self,
        grad_output: Array,
        alpha: Scalar,
        scale: Scalar,
        input_scale: Scalar,
        is_result: bool,
        self_or_result: Array,
    ) -> Any:
        """Return the gradient of `elu`, from its input or its result."""
        xp = self.xp
        x = self_or_result
        if is_result:
            self._check_invertible("elu", alpha)
            slope = xp.multiply(
                x + self.numbers.like(x, alpha * scale), self.numbers.like(x, input_scale)
            )
        else:
            bounded = xp.multiply(
                xp.minimum(x, self.numbers.like(x, 0)), self.numbers.like(x, input_scale)
            )
            slope = xp.multiply(xp.exp(bounded), self.numbers.like(x, input_scale * alpha * scale))
        straight = (
            grad_output
            if scale == 1
            else xp.multiply(grad_output, self.numbers.like(grad_output, scale))
        )
        return xp.where(x <= self.numbers.like(x, 0), xp.multiply(grad_output, slope), straight)
