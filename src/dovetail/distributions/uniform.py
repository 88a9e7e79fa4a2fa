"""The uniform distribution."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor

from . import constraints
from .distribution import Distribution
from .utils import validated

__all__ = ["Uniform"]


class Uniform(Distribution):
    """Uniform distribution on [low, high)."""

    has_rsample = True

    @property
    def arg_constraints(self) -> dict[str, Any]:
        """Constraints of the parameters: `low` is less than `high`."""
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    def __init__(self, low: object, high: object, validate_args: bool | None = None) -> None:
        self._set(validate_args, low=low, high=high)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """The interval."""
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Tensor:
        """The middle of the interval."""
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Tensor:
        """NaN: all values are equally probable."""
        return nan * self.high

    @property
    def stddev(self) -> Tensor:
        """``(high - low) / sqrt(12)``."""
        return (self.high - self.low) / 12**0.5

    @property
    def variance(self) -> Tensor:
        """``(high - low) ** 2 / 12``."""
        return (self.high - self.low).pow(2) / 12

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return ``low + u * (high - low)``."""
        shape = self._extended_shape(sample_shape)
        u = aten.rand(shape, dtype=self.low.dtype, device=self.low.device)
        return self.low + u * (self.high - self.low)

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        """Return minus the logarithm of the length of the interval, or minus infinity outside."""
        inside = self.low.le(value) & self.high.gt(value)
        return aten.log(inside.type_as(self.low)) - aten.log(self.high - self.low)

    @validated
    def cdf(self, value: Tensor) -> Tensor:
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Tensor) -> Tensor:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        """Return ``log(high - low)``."""
        return aten.log(self.high - self.low)
