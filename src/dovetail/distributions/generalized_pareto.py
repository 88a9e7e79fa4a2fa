"""The generalized Pareto distribution."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor

from . import constraints
from .distribution import Distribution
from .utils import validated

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """Generalized Pareto distribution above the threshold `loc`: exponential for ``concentration ==
    0``, with a heavy tail for positive and a finite end for negative values.
    """

    arg_constraints = {  # noqa: RUF012
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True

    def __init__(
        self, loc: object, scale: object, concentration: object, validate_args: bool | None = None
    ) -> None:
        self._set(validate_args, loc=loc, scale=scale, concentration=concentration)

    def _nearly_zero(self) -> Tensor:
        return aten.isclose(self.concentration, aten.zeros_like(self.concentration))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return quantiles of uniform numbers."""
        shape = self._extended_shape(sample_shape)
        return self.icdf(aten.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def _log_survival(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability of values above `value`."""
        z = (value - self.loc) / self.scale
        zero = self._nearly_zero()
        safe = aten.where(zero, aten.ones_like(self.concentration), self.concentration)
        return aten.where(zero, -z, -aten.log1p((safe * z).clamp(min=-1)) / safe)

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        survival = self._log_survival(value)
        found = (1 + self.concentration) * survival - aten.log(self.scale)
        return found

    def log_survival_function(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability of values above `value`."""
        return self._log_survival(value)

    def log_cdf(self, value: Tensor) -> Tensor:
        """Return the logarithm of `cdf`."""
        return aten.log1p(-aten.exp(self._log_survival(value)))

    @validated
    def cdf(self, value: Tensor) -> Tensor:
        return -aten.expm1(self._log_survival(value))

    def icdf(self, value: Tensor) -> Tensor:
        zero = self._nearly_zero()
        safe = aten.where(zero, aten.ones_like(self.concentration), self.concentration)
        survival = aten.log1p(-value)
        return self.loc + self.scale * aten.where(
            zero, -survival, aten.expm1(-safe * survival) / safe
        )

    @property
    def mean(self) -> Tensor:
        """``loc + scale / (1 - concentration)``, infinite for ``concentration >= 1``."""
        found = self.loc + self.scale / (1 - self.concentration.clamp(max=1))
        return aten.where(self.concentration < 1, found, inf)

    @property
    def variance(self) -> Tensor:
        """The variance, infinite for ``concentration >= 1 / 2``."""
        c = self.concentration
        found = self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c))
        return aten.where(c < 0.5, found, inf)

    def entropy(self) -> Tensor:
        """Return ``log(scale) + concentration + 1``."""
        return aten.log(self.scale) + self.concentration + 1

    @property
    def mode(self) -> Tensor:
        """The parameter `loc`."""
        return self.loc

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """Numbers from `loc`, up to a finite end if the concentration is negative."""
        end = aten.where(self.concentration < 0, self.loc - self.scale / self.concentration, inf)
        return constraints.interval(self.loc, end)
