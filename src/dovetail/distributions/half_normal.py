"""The half-normal distribution."""

from __future__ import annotations

from math import inf, pi

import dovetail_aten as aten
from dovetail_aten import Tensor

from . import constraints
from .normal import Normal
from .symmetric_halves import LOG_2, SymmetricHalf
from .transforms import AbsTransform
from .utils import validated

__all__ = ["HalfNormal"]


class HalfNormal(SymmetricHalf):
    """Half-normal distribution: absolute values of normal numbers with mean 0 and standard
    deviation `scale`.
    """

    arg_constraints = {"scale": constraints.positive}  # noqa: RUF012
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, scale: object, validate_args: bool | None = None) -> None:
        super().__init__(
            Normal(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args
        )

    @property
    def mean(self) -> Tensor:
        """``scale * sqrt(2 / pi)``."""
        return self.scale * (2 / pi) ** 0.5

    @property
    def variance(self) -> Tensor:
        """``scale ** 2 * (1 - 2 / pi)``."""
        return self.scale.pow(2) * (1 - 2 / pi)

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        found = self.base_dist.log_prob(value) + LOG_2
        return aten.where(value >= 0, found, -inf)
