"""The continuous Bernoulli distribution."""

from __future__ import annotations

from collections.abc import Sequence

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_autograd import no_grad

from .. import special
from ..nn.functional import binary_cross_entropy_with_logits
from . import constraints
from .chances import Chances
from .exp_family import ExponentialFamily
from .utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs, validated

__all__ = ["ContinuousBernoulli"]

_LOG_2 = 0.6931471805599453


class ContinuousBernoulli(Chances, ExponentialFamily):
    """Continuous Bernoulli distribution on [0, 1] with density proportional to ``probs ** x * (1 -
    probs) ** (1 - x)`` (Loaiza-Ganem and Cunningham 2019, arXiv:1907.06845).

    Parameters
    ----------
    lims
        Interval of probabilities in which Taylor polynomials at 1/2 replace the formulas, which
        suffer from cancellation there.
    """

    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        probs: object = None,
        logits: object = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        self._lims = lims
        self._set_chances(validate_args, probs, logits)
        if probs is not None:
            vars(self)["probs"] = clamp_probs(self.probs)

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities, away from 0 and 1, where the density has no formula."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _expand_into(self, new: object, batch_shape: Sequence[int]) -> None:
        new._lims = self._lims

    def _stable(self) -> Tensor:
        """Say where the formulas do not cancel."""
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _away(self) -> Tensor:
        """Return the chances, or one at the lower limit where the formulas would cancel."""
        return aten.where(self._stable(), self.probs, self._lims[0] * aten.ones_like(self.probs))

    def _cont_bern_log_norm(self) -> Tensor:
        """Return the logarithm of the normalizing constant."""
        away = self._away()
        odds = aten.abs(aten.log1p(-away) - aten.log(away))
        log_norm = aten.log(odds) - aten.log(aten.abs(1 - 2.0 * away))
        x = (self.probs - 0.5) ** 2
        near = _LOG_2 + (4.0 / 3.0 + 104.0 / 45.0 * x) * x
        return aten.where(self._stable(), log_norm, near)

    @property
    def mean(self) -> Tensor:
        away = self._away()
        found = away / (2.0 * away - 1.0) + 1.0 / (aten.log1p(-away) - aten.log(away))
        x = self.probs - 0.5
        near = 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x**2) * x
        return aten.where(self._stable(), found, near)

    @property
    def variance(self) -> Tensor:
        away = self._away()
        found = away * (away - 1.0) / (1.0 - 2.0 * away) ** 2
        found = found + 1.0 / (aten.log1p(-away) - aten.log(away)) ** 2
        x = (self.probs - 0.5) ** 2
        near = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x
        return aten.where(self._stable(), found, near)

    @property
    def stddev(self) -> Tensor:
        """The root of the variance."""
        return aten.sqrt(self.variance)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return quantiles of uniform numbers."""
        shape = self._extended_shape(sample_shape)
        return self.icdf(aten.rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    @no_grad()
    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.rsample(sample_shape)

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        return (
            -binary_cross_entropy_with_logits(logits, value, reduction="none")
            + self._cont_bern_log_norm()
        )

    @validated
    def cdf(self, value: Tensor) -> Tensor:
        away = self._away()
        found = aten.pow(away, value) * aten.pow(1.0 - away, 1.0 - value) + away - 1.0
        found = aten.where(self._stable(), found / (2.0 * away - 1.0), value)
        found = aten.where(aten.le(value, 0.0), aten.zeros_like(found), found)
        return aten.where(aten.ge(value, 1.0), aten.ones_like(found), found)

    def icdf(self, value: Tensor) -> Tensor:
        away = self._away()
        found = aten.log1p(-away + value * (2.0 * away - 1.0)) - aten.log1p(-away)
        return aten.where(self._stable(), found / (aten.log(away) - aten.log1p(-away)), value)

    def entropy(self) -> Tensor:
        failure = aten.log1p(-self.probs)
        odds = aten.log(self.probs) - failure
        return -self.mean * odds - self._cont_bern_log_norm() - failure

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        """Return the logarithm of ``(exp(x) - 1) / x``."""
        away = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        safe = aten.where(away, x, (self._lims[0] - 0.5) * aten.ones_like(x))
        found = aten.log(aten.abs(special.expm1(safe))) - aten.log(aten.abs(safe))
        return aten.where(away, found, 0.5 * x + aten.pow(x, 2) / 24.0 - aten.pow(x, 4) / 2880.0)
