"""The relaxed Bernoulli distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor

from . import constraints
from .chances import Chances
from .transformed_distribution import TransformedDistribution
from .transforms import SigmoidTransform
from .utils import attribute, broadcast_all, clamp_probs, validated

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(Chances):
    """Log-odds of relaxed Bernoulli numbers (Maddison, Mnih and Teh 2017, arXiv:1611.00712)."""

    support = constraints.real

    def __init__(
        self,
        temperature: Any,
        probs: object = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        self._set_chances(validate_args, probs, logits)

    def _expand_into(self, new: object, batch_shape: Sequence[int]) -> None:
        new.temperature = self.temperature

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return logistic numbers around the log-odds, divided by the temperature."""
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(aten.rand(shape, dtype=probs.dtype, device=probs.device))
        logistic = u.log() - (-u).log1p() + probs.log() - (-probs).log1p()
        return logistic / self.temperature

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        distance = logits - value.mul(self.temperature)
        return aten.log(aten.as_tensor(self.temperature)) + distance - 2 * distance.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """Relaxed Bernoulli distribution on (0, 1); a lower `temperature` moves samples closer to 0 or
    1.
    """

    arg_constraints = Chances.arg_constraints
    support = constraints.unit_interval
    has_rsample = True
    temperature: Any = attribute("base_dist.temperature", "The temperature.")
    logits: Tensor = attribute("base_dist.logits", "The log-odds.")
    probs: Tensor = attribute("base_dist.probs", "The probabilities.")

    def __init__(
        self,
        temperature: Any,
        probs: object = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)
