"""Smooth activation functions, each beside its backward kernel: sigmoid, softplus, gelu and kin."""

from __future__ import annotations

import math
from typing import Any

from ....kernel_support.capabilities import Capabilities
from ....kernel_support.family import operator, widened
from ....kernel_support.table import KernelTable
from ....typing import Array, Namespace
from .bitwise_select import Choosing, PerDtype

_SQRT_HALF = math.sqrt(0.5)
_INV_SQRT_TWO_PI = 1 / math.sqrt(2 * math.pi)
_TANH_SCALE = math.sqrt(2 / math.pi)
_TANH_CUBIC = 0.044715


class Sigmoids(Choosing):
    """sigmoid, silu, softplus, log_sigmoid and gelu, and the gradient of tanh."""

    def __init__(
        self, xp: Namespace, capabilities: Capabilities, table: KernelTable | None = None
    ) -> None:
        super().__init__(xp, capabilities, table)
        self._of_erf = self._constants(1, 0.5, _SQRT_HALF)
        self._of_density = self._constants(-0.5, _INV_SQRT_TWO_PI)
        # The formula with tanh is x * sigmoid(2 u), which loses no digits where tanh is near -1.
        self._of_sigmoid = self._constants(1, -2 * _TANH_SCALE, -2 * _TANH_SCALE * _TANH_CUBIC)
        self._of_slope = self._constants(2 * _TANH_SCALE, 6 * _TANH_SCALE * _TANH_CUBIC)

    def define_in(self, kernel: KernelTable) -> None:
        """Define the kernels; the exact gelu has a separate form."""
        super().define_in(kernel)
        kernel("gelu", self.gelu, fast_path=self.exact_gelu)

    def _constants(self, *values: float) -> PerDtype:
        """Return these numbers as operands of every dtype."""
        of_dtype = self.numbers.of_dtype
        return PerDtype(lambda own: tuple([of_dtype(value, own) for value in values]))

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
        slope = xp.multiply(xp.subtract(self._ones[output.dtype], output), output)
        return xp.multiply(
            grad_output, xp.conjugate(slope) if output.dtype in self.precision.complex else slope
        )

    @operator("tanh_backward")
    @widened
    def tanh_backward(self, grad_output: Array, output: Array) -> Any:
        """Return the gradient of tanh, from its result: ``grad * (1 - output ** 2)``."""
        xp = self.xp
        slope = xp.subtract(self._ones[output.dtype], xp.multiply(output, output))
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
        one = self._ones[x.dtype]
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
            return self._choose(x > self.numbers.like(x, threshold), x, xp.log1p(xp.exp(x)))
        scale = self.numbers.like(x, beta)
        scaled = xp.multiply(x, scale)
        return self._choose(
            scaled > self.numbers.like(x, threshold),
            x,
            xp.true_divide(xp.log1p(xp.exp(scaled)), scale),
        )

    @operator("softplus_backward")
    @widened
    def softplus_backward(self, grad_output: Array, x: Array, beta: int, threshold: int) -> Any:
        """Return the gradient of `softplus`: ``grad * sigmoid(beta * x)``."""
        scaled = x if beta == 1 else self.xp.multiply(x, self.numbers.like(x, beta))
        return self._choose(
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
        return xp.subtract(xp.minimum(x, self._zeros[x.dtype]), xp.log1p(buffer)), buffer

    @operator("log_sigmoid_backward")
    @widened
    def log_sigmoid_backward(self, grad_output: Array, x: Array, buffer: object) -> Any:
        """Return the gradient of log_sigmoid: ``grad * sigmoid(-x)``."""
        xp = self.xp
        # Computing the power again takes fewer passes than telling the signs apart, which `buffer`
        # has lost.
        return xp.true_divide(grad_output, xp.add(xp.exp(x), self._ones[x.dtype]))

    def _power(self, x: Array, square: object) -> Any:
        """Return ``1 + exp(-2 u)`` for u = sqrt(2 / pi) (x + 0.044715 x³)."""
        xp = self.xp
        one, linear, cubic = self._of_sigmoid[x.dtype]
        return xp.add(xp.exp(xp.multiply(x, xp.add(xp.multiply(square, cubic), linear))), one)

    def _is_tanh(self, approximate: str) -> bool:
        """Return whether gelu is to be approximated by tanh."""
        if approximate not in ("none", "tanh"):
            raise RuntimeError("approximate argument must be either none or tanh.")
        return approximate == "tanh"

    @widened
    def exact_gelu(self, x: Array) -> Any:
        """Return ``x * (1 + erf(x / sqrt(2))) / 2``."""
        xp = self.xp
        self.check_float("GeluKernelImpl", x)
        one, half, scale = self._of_erf[x.dtype]
        return xp.multiply(
            xp.multiply(x, half), xp.add(self.capabilities.erf(xp.multiply(x, scale)), one)
        )

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
        xp = self.xp
        self.check_float("GeluBackwardKernelImpl", x)
        one, half, scale = self._of_erf[x.dtype]
        square = xp.multiply(x, x)
        if self._is_tanh(approximate):
            linear, cubic = self._of_slope[x.dtype]
            sigmoid = xp.reciprocal(self._power(x, square))
            # Zero first: it stays so, however large the slope of the argument is.
            rest = xp.multiply(sigmoid, xp.subtract(one, sigmoid))
            slope = xp.add(xp.multiply(square, cubic), linear)
            share = xp.add(sigmoid, xp.multiply(xp.multiply(rest, x), slope))
            return xp.multiply(grad_output, share)
        exponent, top = self._of_density[x.dtype]
        share = xp.multiply(xp.add(self.capabilities.erf(xp.multiply(x, scale)), one), half)
        return xp.multiply(
            grad_output,
            xp.add(share, xp.multiply(xp.exp(xp.multiply(square, exponent)), xp.multiply(x, top))),
        )
