"""The half-normal distribution."""

from __future__ import annotations

from math import inf, pi
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor

from . import constraints
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import AbsTransform
from .utils import validated

__all__ = ["HalfNormal"]


class HalfNormal(TransformedDistribution):
    """Absolute values of normal numbers with mean 0 and standard deviation `scale`."""

    arg_constraints = {"scale": constraints.positive}  # noqa: RUF012
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(
            Normal(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args
        )

    @property
    def scale(self) -> Tensor:
        """The standard deviation of the normal numbers."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        """``scale * sqrt(2 / pi)``."""
        return self.scale * (2 / pi) ** 0.5

    @property
    def mode(self) -> Tensor:
        """0."""
        return aten.zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        """``scale ** 2 * (1 - 2 / pi)``."""
        return self.scale.pow(2) * (1 - 2 / pi)

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density."""
        found = self.base_dist.log_prob(value) + 0.6931471805599453
        return aten.where(value >= 0, found, -inf)

    @validated
    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of what is at most `value`."""
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        """Return the quantile of a probability."""
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        """Return that of the normal numbers, less ``log(2)``."""
        return self.base_dist.entropy() - 0.6931471805599453
