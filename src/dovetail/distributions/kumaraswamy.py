"""Kumaraswamy's distribution."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor

from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant

__all__ = ["Kumaraswamy"]


class Kumaraswamy(TransformedDistribution):
    """Kumaraswamy distribution on [0, 1], similar to a beta distribution, with quantiles in closed
    form.
    """

    arg_constraints = {  # noqa: RUF012
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self, concentration1: object, concentration0: object, validate_args: bool | None = None
    ) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(
            aten.full_like(self.concentration0, 0),
            aten.full_like(self.concentration0, 1),
            validate_args=validate_args,
        )
        super().__init__(base, self._steps(), validate_args=validate_args)

    def _steps(self) -> list[Any]:
        return [
            PowerTransform(exponent=self.concentration0.reciprocal()),
            AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(exponent=self.concentration1.reciprocal()),
        ]

    def _expand_into(self, new: object, batch_shape: Sequence[int]) -> None:
        super()._expand_into(new, batch_shape)
        new.transforms = new._steps()

    def _moment(self, n: int) -> Tensor:
        """Return the mean of the nth power."""
        a, b = 1 + n / self.concentration1, self.concentration0
        return aten.exp(a.lgamma() + b.lgamma() - (a + b).lgamma()) * b

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        """The most probable value; NaN if it is at an end of the interval."""
        a, b = self.concentration1, self.concentration0
        found = (a.reciprocal() * ((a - 1).log() - (a * b - 1).log())).exp()
        return found.masked_fill((a < 1) | (b < 1), nan)

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - self._moment(1).pow(2)

    def entropy(self) -> Tensor:
        first, second = 1 - self.concentration1.reciprocal(), 1 - self.concentration0.reciprocal()
        harmonic = aten.digamma(self.concentration0 + 1) + euler_constant
        return (
            second
            + first * harmonic
            - aten.log(self.concentration1)
            - aten.log(self.concentration0)
        )
