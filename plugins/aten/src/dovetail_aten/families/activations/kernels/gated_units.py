"""Activation functions that multiply by a gate, each beside its backward kernel: mish and glu."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

from ....kernel_support.capabilities import Capabilities
from ....kernel_support.dims import wrap_dim
from ....kernel_support.family import operator, widened
from ....kernel_support.table import KernelTable
from ....typing import Array, Namespace
from .sigmoids import Logistic

_SATURATED = 20
"""Beyond it the gate of mish is 1 in every dtype."""


class GatedUnits(Logistic):
    """mish, and the gated linear unit."""

    def __init__(
        self, xp: Namespace, capabilities: Capabilities, table: KernelTable | None = None
    ) -> None:
        super().__init__(xp, capabilities, table)
        self._gated = capabilities.compiled("softplus_backward", self._times_sigmoid)
        self._sigmoid = capabilities.compiled("sigmoid", self._sigmoid_of)
        self._slope = capabilities.compiled("sigmoid_backward", self._times_slope)

    def _gate(self, x: Array) -> tuple[Any, Any]:
        """Return ``exp(x)``, bounded, and ``tanh(softplus(x))``, which is a ratio of polynomials
        of it.
        """
        xp, like = self.xp, self.numbers.like
        power = xp.exp(xp.minimum(x, like(x, _SATURATED)))
        square = xp.multiply(power, xp.add(power, like(x, 2)))
        return power, xp.true_divide(square, xp.add(square, like(x, 2)))

    @operator("mish")
    @widened
    def mish(self, x: Array) -> Any:
        """Return ``x * tanh(softplus(x))`` (Misra 2019, arXiv:1908.08681)."""
        self.check_float("mish_cpu", x)
        return self.xp.multiply(x, self._gate(x)[1])

    @operator("mish_backward")
    @widened
    def mish_backward(self, grad_output: Array, x: Array) -> Any:
        """Return the gradient of `mish`: with t = tanh(softplus(x)), ``grad * (t + x * sigmoid(x) *
        (1 - t ** 2))``.
        """
        xp = self.xp
        self.check_float("mish_backward_cpu", x)
        one = self.numbers.like(x, 1)
        power, gate = self._gate(x)
        sigmoid = xp.true_divide(power, xp.add(power, one))
        bend = xp.multiply(sigmoid, xp.subtract(one, xp.multiply(gate, gate)))
        return xp.multiply(grad_output, xp.add(gate, xp.multiply(x, bend)))

    def _times_sigmoid(self, factor: Array, x: Array, beta: int, threshold: float) -> Any:
        """Return ``factor * sigmoid(x)``: the gradient of softplus without a threshold."""
        return self._logistic(factor, x)

    def _sigmoid_of(self, x: Array) -> Any:
        return self._logistic(self.numbers.like(x, 1), x)

    def _times_slope(self, factor: Array, sigmoid: Array) -> Any:
        """Return `factor` times the slope of a sigmoid."""
        xp = self.xp
        return xp.multiply(
            factor, xp.multiply(xp.subtract(self.numbers.like(sigmoid, 1), sigmoid), sigmoid)
        )

    def _halves(self, name: str, x: Array, dim: int) -> tuple[int, Any, Any]:
        """Return the dimension that is halved, counted from 0, and both halves."""
        axis = check_glu(x.shape, dim)
        self.check_float(name, x)
        middle = x.shape[axis] // 2
        before = (slice(None),) * axis
        return axis, x[(*before, slice(middle))], x[(*before, slice(middle, None))]

    @operator("glu")
    @widened
    def glu(self, x: Array, dim: int = -1) -> Any:
        """Return the first half along `dim` times the sigmoid of the second (Dauphin et al. 2016,
        arXiv:1612.08083).
        """
        _, value, gate = self._halves("glu_cpu", x, dim)
        return self._gated(value, gate, 1, inf)

    @operator("glu_backward")
    @widened
    def glu_backward(self, grad_output: Array, x: Array, dim: int) -> Any:
        """Return the gradient of `glu`: with the sigmoid s, ``grad * s`` for the first half, and
        for the second ``grad * value * s * (1 - s)``.
        """
        xp = self.xp
        axis, value, gate = self._halves("glu_backward_cpu", x, dim)
        sigmoid = self._sigmoid(gate)
        to_gate = self._slope(xp.multiply(grad_output, value), sigmoid)
        both = [xp.multiply(grad_output, sigmoid), to_gate]
        return self.ordered(xp.concatenate(both, axis=axis))


def check_glu(shape: Sequence[int], dim: int) -> int:
    """Return the dimension that `glu` halves, counted from 0. Raises RuntimeError if there is none,
    or its size is odd, and IndexError if `dim` is out of range.
    """
    if not len(shape):
        raise RuntimeError("glu does not support 0-dimensional tensors. Give it a dimension.")
    axis = int(wrap_dim(dim, len(shape)))
    if shape[axis] % 2:
        raise RuntimeError(
            f"Halving dimension must be even, but dimension {axis} is size {shape[axis]}. Pad the "
            "tensor, or choose another dimension."
        )
    return axis
