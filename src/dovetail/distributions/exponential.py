"""The exponential distribution."""

from __future__ import annotations

from collections.abc import Sequence

import dovetail_aten as aten
from dovetail_aten import Tensor

from . import constraints
from .exp_family import ExponentialFamily
from .utils import attribute, validated

__all__ = ["Exponential"]


class Exponential(ExponentialFamily):
    """Exponential distribution with the given `rate`."""

    arg_constraints = {"rate": constraints.positive}  # noqa: RUF012
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    stddev = attribute("mean")

    def __init__(self, rate: object, validate_args: bool | None = None) -> None:
        self._set(validate_args, rate=rate)

    @property
    def mean(self) -> Tensor:
        """``1 / rate``."""
        return self.rate.reciprocal()

    @property
    def mode(self) -> Tensor:
        """0."""
        return aten.zeros_like(self.rate)

    @property
    def variance(self) -> Tensor:
        """``1 / rate ** 2``."""
        return self.rate.pow(-2)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return standard exponential numbers divided by the rate."""
        return self.rate.new_empty(self._extended_shape(sample_shape)).exponential_() / self.rate

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        return self.rate.log() - self.rate * value

    @validated
    def cdf(self, value: Tensor) -> Tensor:
        return 1 - aten.exp(-self.rate * value)

    def icdf(self, value: Tensor) -> Tensor:
        return -aten.log1p(-value) / self.rate

    def entropy(self) -> Tensor:
        """Return ``1 - log(rate)``."""
        return 1.0 - aten.log(self.rate)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (-self.rate,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return -aten.log(-x)
