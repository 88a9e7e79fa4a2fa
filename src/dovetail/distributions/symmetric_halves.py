"""Absolute values of numbers whose distribution is symmetric around 0."""

from __future__ import annotations

from math import log
from typing import Final

import dovetail_aten as aten
from dovetail_aten import Tensor

from .transformed_distribution import TransformedDistribution
from .utils import attribute, validated

LOG_2: Final = log(2)


class SymmetricHalf(TransformedDistribution):
    """What half-normal and half-Cauchy numbers share: each half has twice the density."""

    scale: Tensor = attribute("base_dist.scale", "That of the symmetric distribution.")

    @property
    def mode(self) -> Tensor:
        """0."""
        return aten.zeros_like(self.scale)

    @validated
    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of values up to `value`."""
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, prob: Tensor) -> Tensor:
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self) -> Tensor:
        """Return that of the symmetric distribution, less ``log(2)``."""
        return self.base_dist.entropy() - LOG_2
