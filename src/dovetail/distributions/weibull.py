"""The Weibull distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor

from . import constraints
from .exponential import Exponential
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .utils import broadcast_all, euler_constant

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """Weibull distribution: ``scale * e ** (1 / concentration)`` for standard exponential e."""

    arg_constraints = {  # noqa: RUF012
        "scale": constraints.positive,
        "concentration": constraints.positive,
    }
    support = constraints.positive

    def __init__(
        self, scale: object, concentration: object, validate_args: bool | None = None
    ) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        super().__init__(
            Exponential(aten.ones_like(self.scale), validate_args=validate_args),
            self._steps(),
            validate_args=validate_args,
        )

    def _steps(self) -> list[Any]:
        return [
            PowerTransform(exponent=self.concentration_reciprocal),
            AffineTransform(loc=0, scale=self.scale),
        ]

    def _expand_into(self, new: object, batch_shape: Sequence[int]) -> None:
        super()._expand_into(new, batch_shape)
        new.concentration_reciprocal = new.concentration.reciprocal()
        new.transforms = new._steps()

    def _moment(self, n: int) -> Tensor:
        """Return the mean of the nth power, for a scale of 1."""
        return aten.exp(aten.lgamma(1 + n * self.concentration_reciprocal))

    @property
    def mean(self) -> Tensor:
        """``scale * gamma(1 + 1 / concentration)``."""
        return self.scale * self._moment(1)

    @property
    def mode(self) -> Tensor:
        return (
            self.scale
            * ((self.concentration - 1) / self.concentration) ** self.concentration.reciprocal()
        )

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (self._moment(2) - self._moment(1) ** 2)

    def entropy(self) -> Tensor:
        inverse = self.concentration_reciprocal
        return euler_constant * (1 - inverse) + aten.log(self.scale * inverse) + 1
