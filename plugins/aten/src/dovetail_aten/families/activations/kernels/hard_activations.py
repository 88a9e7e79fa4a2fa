"""Activation functions made of lines, each beside its backward kernel: hardswish, hardsigmoid, and
what shrinks towards 0.
"""

from __future__ import annotations

from typing import Any

from ....kernel_support.family import Family, operator, widened
from ....typing import Array, Scalar


class HardActivations(Family):
    """hardswish, hardsigmoid, hardshrink and softshrink."""

    def _sixth(self, x: Array) -> Any:
        """Return ``(x + 3) / 6``, limited to 0 and 1."""
        xp, like = self.xp, self.numbers.like
        bounded = xp.minimum(xp.maximum(xp.add(x, like(x, 3)), like(x, 0)), like(x, 6))
        return xp.true_divide(bounded, like(x, 6))

    @operator("hardswish")
    @widened
    def hardswish(self, x: Array) -> Any:
        """Return ``x * min(max(x + 3, 0), 6) / 6`` (Howard et al. 2019, arXiv:1905.02244)."""
        self.check_float("hardswish_cpu", x)
        return self.xp.multiply(x, self._sixth(x))

    @operator("hardswish_backward")
    @widened
    def hardswish_backward(self, grad_output: Array, x: Array) -> Any:
        """Return the gradient of `hardswish`: ``grad * (x / 3 + 1 / 2)`` between -3 and 3."""
        xp, like = self.xp, self.numbers.like
        self.check_float("hardswish_backward_cpu", x)
        slope = xp.add(xp.multiply(x, like(x, 1 / 3)), like(x, 0.5))
        bent = xp.where(x < like(x, 3), xp.multiply(grad_output, slope), grad_output)
        # Not "greater": the gradient passes where the input is NaN.
        return xp.where(xp.logical_not(xp.less_equal(x, like(x, -3))), bent, like(x, 0))

    @operator("hardsigmoid")
    @widened
    def hardsigmoid(self, x: Array) -> Any:
        """Return ``min(max(x + 3, 0), 6) / 6``."""
        self.check_float("hardsigmoid_cpu", x)
        return self._sixth(x)

    @operator("hardsigmoid_backward")
    @widened
    def hardsigmoid_backward(self, grad_output: Array, x: Array) -> Any:
        """Return the gradient of `hardsigmoid`, a sixth strictly between -3 and 3."""
        xp, like = self.xp, self.numbers.like
        self.check_float("hardsigmoid_backward", x)
        inside = xp.less(xp.absolute(x), like(x, 3))
        return xp.where(
            inside, xp.multiply(grad_output, like(grad_output, 1 / 6)), like(grad_output, 0)
        )

    @operator("hardshrink")
    def hardshrink(self, x: Array, lambd: object = 0.5) -> Any:
        """Return 0 where ``abs(x)`` is at most `lambd`, else `x`."""
        self.check_float("hardshrink_cpu", x)
        return self.xp.where(self._is_beyond(x, lambd), x, self.numbers.like(x, 0))

    def _is_beyond(self, x: Array, lambd: Any) -> Any:
        """Return where `x` is not within ``[-lambd, lambd]``: NaN is not."""
        xp = self.xp
        return xp.logical_not(xp.less_equal(xp.absolute(x), self.numbers.fitting(x, lambd)))

    @operator("softshrink")
    @widened
    def softshrink(self, x: Array, lambd: float = 0.5) -> Any:
        """Return `x` moved towards 0 by `lambd`, stopping at 0."""
        xp = self.xp
        self.check_float("softshrink_check", x)
        greatest = self.capabilities.finfo(x.dtype)[1]
        if not 0 <= lambd <= greatest:
            raise RuntimeError(
                f"lambda must be in range [0, {greatest:g}] for input dtype "
                f"{self.dtypes[x.dtype].scalar_name}, but found {lambd}. Give 0 or more."
            )
        bound = self.numbers.like(x, lambd)
        # What lies within the bounds minus itself is 0; NaN stays, and so does an infinity.
        within = xp.minimum(xp.maximum(x, xp.negative(bound)), bound)
        return xp.subtract(x, within)

    @operator("hardshrink_backward", "softshrink_backward")
    def shrink_backward(self, grad_output: Array, x: Array, lambd: Scalar) -> Any:
        """Return the gradient of `hardshrink` and of `softshrink`, which is nonzero outside the
        bounds.
        """
        self.check_float("shrink_backward_cpu", x)
        return self.xp.where(
            self._is_beyond(x, lambd), grad_output, self.numbers.like(grad_output, 0)
        )
