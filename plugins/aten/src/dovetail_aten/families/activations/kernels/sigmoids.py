"""Smooth activation functions, each beside its backward kernel: sigmoid, softplus, gelu and kin."""

from __future__ import annotations

import math
from typing import Any

from ....kernel_support.family import Family, operator, widened
from ....kernel_support.table import KernelTable
from ....typing import Array

_SQRT_HALF = math.sqrt(0.5)
_INV_SQRT_TWO_PI = 1 / math.sqrt(2 * math.pi)
_TANH_SCALE = math.sqrt(2 / math.pi)
_TANH_CUBIC = 0.044715


class Logistic(Family):
    """Families whose kernels contain the logistic function."""

    def _logistic(self, numerator: Array, x: Array) -> Any:
        """Return ``numerator / (1 + exp(-x))``, which overflow of the power takes to the right
        limits.
        """
        xp = self.xp
        return xp.true_divide(numerator, xp.add(xp.exp(xp.negative(x)), self.numbers.like(x, 1)))


class Sigmoids(Logistic):
    """sigmoid, silu, softplus, log_sigmoid and gelu, and the gradient of tanh."""

    def define_in(self, kernel: KernelTable) -> None:
        """Define the kernels; the exact gelu has a separate form."""
        super().define_in(kernel)
        kernel("gelu", self.gelu, fast_path=self.exact_gelu)

    @operator("sigmoid")
    @widened
    def sigmoid(self, x: Array) -> Any:
        """Return ``1 / (1 + exp(-x))``."""
        xp = self.xp
        return xp.reciprocal(xp.exp(xp.negative(x)) + self.numbers.like(x, 1))

    @operator("sigmoid_backward")
    @widened
    def sigmoid_backward(self, grad_output: Array, output: Array) -> Any:
        """Return the gradient of sigmoid, from its result: ``grad * output * (1 - output)``."""
        xp = self.xp
        slope = xp.multiply(xp.subtract(self.numbers.like(output, 1), output), output)
        return xp.multiply(
            grad_output, xp.conjugate(slope) if output.dtype in self.precision.complex else slope
        )

    @operator("tanh_backward")
    @widened
    def tanh_backward(self, grad_output: Array, output: Array) -> Any:
        """Return the gradient of tanh, from its result: ``grad * (1 - output ** 2)``."""
        xp = self.xp
        slope = xp.subtract(self.numbers.like(output, 1), xp.multiply(output, output))
        return xp.multiply(
            grad_output, xp.conjugate(slope) if output.dtype in self.precision.complex else slope
        )

    @operator("silu")
    @widened
    def silu(self, x: Array) -> Any:
        """Return ``x * sigmoid(x)``."""
        self.check_float("silu_cpu", x)
        return self._logistic(x, x)

    @operator("silu_backward")
    @widened
    def silu_backward(self, grad_output: Array, x: Array) -> Any:
        """Return the gradient of `silu`: with s = sigmoid(x), ``grad * s * (1 + x * (1 - s))``."""
        xp = self.xp
        one = self.numbers.like(x, 1)
        sigmoid = self._logistic(one, x)
        slope = xp.multiply(sigmoid, xp.add(xp.multiply(x, xp.subtract(one, sigmoid)), one))
        return xp.multiply(
            grad_output, xp.conjugate(slope) if x.dtype in self.precision.complex else slope
        )

    @operator("softplus")
    @widened
    def softplus(self, x: Array, beta: int = 1, threshold: int = 20) -> Any:
        """Return ``log(1 + exp(beta * x)) / beta``, and `x` where ``beta * x`` is above
        `threshold`.
        """
        xp = self.xp
        self.check_float("softplus_cpu", x)
        if beta == 1:
            return xp.where(x > self.numbers.like(x, threshold), x, xp.log1p(xp.exp(x)))
        scale = self.numbers.like(x, beta)
        scaled = xp.multiply(x, scale)
        return xp.where(
            scaled > self.numbers.like(x, threshold),
            x,
            xp.true_divide(xp.log1p(xp.exp(scaled)), scale),
        )

    @operator("softplus_backward")
    @widened
    def softplus_backward(self, grad_output: Array, x: Array, beta: int, threshold: int) -> Any:
        """Return the gradient of `softplus`: ``grad * sigmoid(beta * x)``."""
        scaled = x if beta == 1 else self.xp.multiply(x, self.numbers.like(x, beta))
        return self.xp.where(
            scaled > self.numbers.like(x, threshold),
            grad_output,
            self._logistic(grad_output, scaled),
        )

    @operator("log_sigmoid_forward")
    @widened
    def log_sigmoid_forward(self, x: Array) -> tuple[Any, Any]:
        """Return ``log(sigmoid(x))`` as ``min(x, 0) - log1p(exp(-abs(x)))``, and the exponential
        for backward.
        """
        xp = self.xp
        self.check_float("log_sigmoid_cpu", x)
        buffer = xp.exp(xp.negative(xp.absolute(x)))
        return xp.subtract(xp.minimum(x, self.numbers.like(x, 0)), xp.log1p(buffer)), buffer

    @operator("log_sigmoid_backward")
    @widened
    def log_sigmoid_backward(self, grad_output: Array, x: Array, buffer: object) -> Any:
        """Return the gradient of log_sigmoid: ``grad * sigmoid(-x)``."""
        xp = self.xp
        # Computing the power again takes fewer passes than telling the signs apart, which `buffer`
        # has lost.
        return xp.true_divide(grad_output, xp.add(xp.exp(x), self.numbers.like(x, 1)))

    def _power(self, x: Array, square: object) -> Any:
        """Return ``1 + exp(-2 u)`` for u = sqrt(2 / pi) (x + 0.044715 x³): the formula with tanh is
        x * sigmoid(2 u), which loses no digits where tanh is near -1.
        """
        xp, like = self.xp, self.numbers.like
        linear, cubic = like(x, -2 * _TANH_SCALE), like(x, -2 * _TANH_SCALE * _TANH_CUBIC)
        power = xp.exp(xp.multiply(x, xp.add(xp.multiply(square, cubic), linear)))
        return xp.add(power, like(x, 1))

    def _is_tanh(self, approximate: str) -> bool:
        """Return whether gelu is to be approximated by tanh."""
        if approximate not in ("none", "tanh"):
            raise RuntimeError("approximate argument must be either none or tanh.")
        return approximate == "tanh"

    @widened
    def exact_gelu(self, x: Array) -> Any:
        """Return ``x * (1 + erf(x / sqrt(2))) / 2``."""
        xp, like = self.xp, self.numbers.like
        self.check_float("GeluKernelImpl", x)
        erf = self.capabilities.erf(xp.multiply(x, like(x, _SQRT_HALF)))
        return xp.multiply(xp.multiply(x, like(x, 0.5)), xp.add(erf, like(x, 1)))

    @operator("gelu")
    @widened
    def gelu(self, x: Array, *, approximate: str = "none") -> Any:
        """Return x times the normal distribution function: exactly, or approximated by a tanh
        (Hendrycks and Gimpel 2016, arXiv:1606.08415).
        """
        xp = self.xp
        if not self._is_tanh(approximate):
            return self.exact_gelu(x)
        self.check_float("GeluKernelImpl", x)
        return xp.true_divide(x, self._power(x, xp.multiply(x, x)))

    @operator("gelu_backward")
    @widened
    def gelu_backward(self, grad_output: Array, x: Array, *, approximate: str = "none") -> Any:
        """Return the gradient of `gelu`: the distribution function plus x times the density, or the
        derivative of the approximation.
        """
        xp, like = self.xp, self.numbers.like
        self.check_float("GeluBackwardKernelImpl", x)
        one, square = like(x, 1), xp.multiply(x, x)
        if self._is_tanh(approximate):
            linear, cubic = like(x, 2 * _TANH_SCALE), like(x, 6 * _TANH_SCALE * _TANH_CUBIC)
            sigmoid = xp.reciprocal(self._power(x, square))
            # Zero first: it stays so, however large the slope of the argument is.
            rest = xp.multiply(sigmoid, xp.subtract(one, sigmoid))
            slope = xp.add(xp.multiply(square, cubic), linear)
            share = xp.add(sigmoid, xp.multiply(xp.multiply(rest, x), slope))
            return xp.multiply(grad_output, share)
        erf = self.capabilities.erf(xp.multiply(x, like(x, _SQRT_HALF)))
        share = xp.multiply(xp.add(erf, one), like(x, 0.5))
        power = xp.exp(xp.multiply(square, like(x, -0.5)))
        density = xp.multiply(power, xp.multiply(x, like(x, _INV_SQRT_TWO_PI)))
        return xp.multiply(grad_output, xp.add(share, density))
