"""The Bernoulli distribution."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_autograd import no_grad

from ..nn.functional import binary_cross_entropy_with_logits
from . import constraints
from .chances import Chances
from .exp_family import ExponentialFamily
from .utils import attribute, broadcast_all, validated

__all__ = ["Bernoulli"]


class Bernoulli(Chances, ExponentialFamily):
    """Bernoulli distribution: 1 with probability `probs` (or log-odds `logits`), else 0."""

    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0
    mean = attribute("probs")

    @property
    def mode(self) -> Tensor:
        """The more probable value; NaN if both are equally probable."""
        found = (self.probs >= 0.5).to(self.probs)
        return found.masked_fill(self.probs == 0.5, nan)

    @property
    def variance(self) -> Tensor:
        """``probs * (1 - probs)``."""
        return self.probs * (1 - self.probs)

    @no_grad()
    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return aten.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return 0 and 1."""
        values = aten.arange(2, dtype=self._param.dtype, device=self._param.device)
        return self._enumerated(values, expand)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (aten.logit(self.probs),)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return aten.log1p(aten.exp(x))
