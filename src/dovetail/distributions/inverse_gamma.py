"""The inverse gamma distribution."""

from __future__ import annotations

from math import inf

import dovetail_aten as aten
from dovetail_aten import Tensor

from . import constraints
from .gamma import Gamma
from .transformed_distribution import TransformedDistribution
from .transforms import PowerTransform
from .utils import attribute

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """Inverse gamma distribution with shape `concentration` and scale `rate`."""

    arg_constraints = {  # noqa: RUF012
        "concentration": constraints.positive,
        "rate": constraints.positive,
    }
    support = constraints.positive
    has_rsample = True
    concentration: Tensor = attribute("base_dist.concentration", "The shape of the gamma numbers.")
    rate: Tensor = attribute("base_dist.rate", "The rate of the gamma numbers.")

    def __init__(
        self, concentration: object, rate: object, validate_args: bool | None = None
    ) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        exponent = -base.rate.new_ones(())
        super().__init__(base, PowerTransform(exponent), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """``rate / (concentration - 1)``, infinite up to ``concentration == 1``."""
        found = self.rate / (self.concentration - 1)
        return aten.where(self.concentration > 1, found, inf)

    @property
    def mode(self) -> Tensor:
        """``rate / (concentration + 1)``."""
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        """The variance, infinite up to ``concentration == 2``."""
        above = self.concentration
        found = self.rate.square() / ((above - 1).square() * (above - 2))
        return aten.where(above > 2, found, inf)

    def entropy(self) -> Tensor:
        return (
            self.concentration
            + self.rate.log()
            + self.concentration.lgamma()
            - (1 + self.concentration) * self.concentration.digamma()
        )
