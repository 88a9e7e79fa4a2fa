"""Softmax and its logarithm, each beside its backward kernel."""

from __future__ import annotations

import math
from typing import Any

from dovetail_kernel.types import FLOAT
from dovetail_kernel.typing import NativeDtype

from ...kernel_support.capabilities import Capabilities
from ...kernel_support.dims import wrap_dim
from ...kernel_support.family import Family, operator
from ...kernel_support.geometry.broadcasting import raise_misfit
from ...kernel_support.table import Function, KernelTable
from ...typing import Array, Namespace


class Softmax(Family):
    """Softmax and its logarithm."""

    def __init__(
        self, xp: Namespace, capabilities: Capabilities, table: KernelTable | None = None
    ) -> None:
        super().__init__(xp, capabilities, table)
        floats = {each for each, dtype in self.dtypes.items() if dtype.category == FLOAT}
        self._full = frozenset(floats - self.precision.halves)

    @operator("_softmax")
    def softmax(self, x: Array, dim: int, half_to_float: bool) -> Any:
        """Return ``exp(x) / sum(exp(x))`` along `dim`, computed relative to the maximum."""
        return self._forward("softmax", self._softmax_of, x, dim, half_to_float)

    @operator("_safe_softmax")
    def safe_softmax(self, x: Array, dim: int, dtype: NativeDtype | None = None) -> Any:
        """Return `softmax`, and 0 where all elements along `dim` are minus infinity."""
        if dtype is not None and x.dtype != dtype:
            x = self.precision.converted(x, dtype)
        return self._forward("softmax", self._safe_softmax_of, x, dim, False)

    @operator("_log_softmax")
    def log_softmax(self, x: Array, dim: int, half_to_float: bool) -> Any:
        """Return ``x - log(sum(exp(x)))`` along `dim`, computed relative to the maximum."""
        return self._forward("log_softmax", self._log_softmax_of, x, dim, half_to_float)

    @operator("_softmax_backward_data")
    def softmax_backward(
        self, grad_output: Array, output: Array, dim: int, input_dtype: NativeDtype
    ) -> Any:
        """Return the gradient of `softmax`, from its result."""
        return self._backward(self._softmax_gradient, grad_output, output, dim, input_dtype)

    @operator("_log_softmax_backward_data")
    def log_softmax_backward(
        self, grad_output: Array, output: Array, dim: int, input_dtype: object
    ) -> Any:
        """Return the gradient of `log_softmax`, from its result."""
        return self._backward(self._log_softmax_gradient, grad_output, output, dim, input_dtype)

    def _forward(
        self, name: str, function: Function, x: Array, dim: int, half_to_float: bool
    ) -> Any:
        """Return ``function(x, dim)``, of half precision computed in float32."""
        own = x.dtype
        if own in self._full and not half_to_float:
            return self.ordered(function(x, dim))
        self._axis_of(x, dim)
        if not x.size and self.dtypes[own].category < FLOAT and not half_to_float:
            return self.capabilities.clone(x)
        self._refuse(name, own, half_to_float)
        result = self.ordered(function(self.precision.wide(x), dim))
        return result if half_to_float else self.precision.narrow(result, own)

    def _backward(
        self, gradient: Function, grad_output: Array, output: Array, dim: int, input_dtype: Any
    ) -> Any:
        """Return ``gradient(grad_output, output, axis)``, of half precision computed in float32."""
        self._axis_of(grad_output, dim)
        axis = self._axis_of(output, dim)
        if output.dtype in self.precision.halves:
            wide = self.precision.wide
            grad_output, output = wide(grad_output), wide(output)
        try:
            result = self.ordered(gradient(grad_output, output, axis))
        except (TypeError, ValueError) as error:
            raise_misfit(error, output, grad_output)
        return (
            result if result.dtype == input_dtype else self.precision.converted(result, input_dtype)
        )

    def _refuse(self, name: str, own: NativeDtype, half_to_float: bool) -> None:
        """Raise an error for a dtype that softmax is not computed in."""
        if own not in self._full and own not in self.precision.halves:
            raise NotImplementedError(
                f'"{name}_lastdim_kernel_impl" not implemented for '
                f"'{self.dtypes[own].scalar_name}'. Convert to a floating-point dtype first."
            )
        if half_to_float and own not in self.precision.halves:
            raise RuntimeError(
                "conversion is supported for Half type only. Pass half_to_float=False."
            )

    def _axis_of(self, x: Array, dim: int) -> int | None:
        """Return the dimension `dim`, counted from 0; None for a 0-d array, which is one class."""
        axis = wrap_dim(dim, x.ndim)
        return axis if x.ndim else None

    def _softmax_of(self, x: Any, dim: int) -> Any:
        """Return the softmax of a floating-point array of full precision."""
        xp = self.xp
        axis = self._axis_of(x, dim)
        if not x.size:
            return self.capabilities.clone(x)
        powers = xp.exp(xp.subtract(x, x.max(axis=axis, keepdims=True)))
        return xp.true_divide(powers, powers.sum(axis=axis, keepdims=True))

    def _safe_softmax_of(self, x: Any, dim: int) -> Any:
        """Return `_softmax_of`, and 0 where all elements along `dim` are minus infinity."""
        if not x.size:
            return self._softmax_of(x, dim)
        xp = self.xp
        masked = xp.equal(x.max(axis=self._axis_of(x, dim), keepdims=True), -math.inf)
        return xp.where(masked, self.numbers.like(x, 0), self._softmax_of(x, dim))

    def _log_softmax_of(self, x: Any, dim: int) -> Any:
        """Return the logarithm of the softmax of a floating-point array of full precision."""
        xp = self.xp
        axis = self._axis_of(x, dim)
        if not x.size:
            return self.capabilities.clone(x)
        away = xp.subtract(x, x.max(axis=axis, keepdims=True))
        return xp.subtract(away, xp.log(xp.exp(away).sum(axis=axis, keepdims=True)))

    def _softmax_gradient(self, grad: Array, output: Array, axis: int | None) -> Any:
        """Return ``output * (grad - sum(grad * output))``."""
        xp = self.xp
        total = xp.multiply(grad, output).sum(axis=axis, keepdims=True)
        return xp.multiply(output, xp.subtract(grad, total))

    def _log_softmax_gradient(self, grad: Array, output: Any, axis: int | None) -> Any:
        """Return ``grad - exp(output) * sum(grad)``."""
        xp = self.xp
        return xp.subtract(grad, xp.multiply(xp.exp(output), grad.sum(axis=axis, keepdims=True)))
