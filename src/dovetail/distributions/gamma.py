"""The gamma distribution."""

from __future__ import annotations

from collections.abc import Sequence

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_kernel import finfo

from .. import special
from . import constraints
from .exp_family import ExponentialFamily
from .utils import standard_gamma, validated

__all__ = ["Gamma"]


class Gamma(ExponentialFamily):
    """Gamma distribution with shape `concentration` and the given `rate`."""

    arg_constraints = {  # noqa: RUF012
        "concentration": constraints.positive,
        "rate": constraints.positive,
    }
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self, concentration: object, rate: object, validate_args: bool | None = None
    ) -> None:
        self._set(validate_args, concentration=concentration, rate=rate)

    @property
    def mean(self) -> Tensor:
        """``concentration / rate``."""
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        """``(concentration - 1) / rate``, at least 0."""
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        """``concentration / rate ** 2``."""
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return standard gamma numbers divided by the rate, at least the smallest positive
        number.
        """
        shape = self._extended_shape(sample_shape)
        drawn = standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        drawn.detach().clamp_(min=finfo(drawn.dtype).tiny)
        return drawn

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        value = aten.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        return (
            aten.xlogy(self.concentration, self.rate)
            + aten.xlogy(self.concentration - 1, value)
            - self.rate * value
            - aten.lgamma(self.concentration)
        )

    @validated
    def cdf(self, value: Tensor) -> Tensor:
        return special.gammainc(self.concentration, self.rate * value)

    def entropy(self) -> Tensor:
        return (
            self.concentration
            - aten.log(self.rate)
            + aten.lgamma(self.concentration)
            + (1.0 - self.concentration) * aten.digamma(self.concentration)
        )

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return aten.lgamma(x + 1) + (x + 1) * aten.log(-y.reciprocal())
