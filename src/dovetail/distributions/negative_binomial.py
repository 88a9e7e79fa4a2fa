"""The negative binomial distribution."""

from __future__ import annotations

from collections.abc import Sequence

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_autograd import no_grad

from ..nn.functional import logsigmoid
from . import constraints
from .chances import Chances
from .gamma import Gamma
from .utils import lazy_property, validated

__all__ = ["NegativeBinomial"]


class NegativeBinomial(Chances):
    """Negative binomial distribution: number of successes with probability `probs` (or log-odds
    `logits`) before `total_count` failures; counts need not be integers.
    """

    arg_constraints = {  # noqa: RUF012
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    total_count: Tensor

    def __init__(
        self,
        total_count: object,
        probs: object = None,
        logits: object = None,
        validate_args: bool | None = None,
    ) -> None:
        self._set_chances(validate_args, probs, logits, total_count=total_count)
        self.total_count = self.total_count.type_as(self._param)

    @property
    def mean(self) -> Tensor:
        """``total_count * exp(logits)``."""
        return self.total_count * aten.exp(self.logits)

    @property
    def mode(self) -> Tensor:
        """``floor((total_count - 1) * exp(logits))``, at least 0."""
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        """The mean divided by the probability of failure."""
        return self.mean / aten.sigmoid(-self.logits)

    @lazy_property
    def _gamma(self) -> Gamma:
        """The rates of which samples are Poisson numbers."""
        rate = aten.exp(-self.logits)
        return Gamma(concentration=self.total_count, rate=rate, validate_args=False)

    @no_grad()
    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return aten.poisson(self._gamma.sample(sample_shape))

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        count = self.total_count
        chances = count * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        ways = aten.lgamma(count + value) - aten.lgamma(1.0 + value) - aten.lgamma(count)
        # Without trials there are no successes.
        return chances + ways.masked_fill(count + value == 0.0, 0.0)
