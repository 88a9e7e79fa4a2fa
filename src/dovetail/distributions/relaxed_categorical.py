"""The relaxed categorical distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor

from . import constraints
from .categorical import Categorical
from .chances import Shares
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform
from .utils import attribute, broadcast_all, clamp_probs, validated

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(Shares):
    """Logarithms of relaxed one-hot vectors (Jang, Gu and Poole 2017, arXiv:1611.01144)."""

    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        temperature: object,
        probs: object = None,
        logits: object = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        self._set_shares(validate_args, Categorical(probs, logits))

    def _expand_into(self, new: object, batch_shape: Sequence[int]) -> None:
        super()._expand_into(new, batch_shape)
        new.temperature = self.temperature

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return the log-softmax of the logits plus Gumbel numbers, divided by the temperature."""
        shape = self._extended_shape(sample_shape)
        u = clamp_probs(aten.rand(shape, dtype=self.logits.dtype, device=self.logits.device))
        scores = (self.logits - (-(u.log())).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        count = self._event_shape[0]
        logits, value = broadcast_all(self.logits, value)
        temperature = aten.as_tensor(self.temperature)
        scale = aten.full_like(temperature, float(count)).lgamma() - temperature.log().mul(
            -(count - 1)
        )
        score = logits - value.mul(temperature)
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + scale


class RelaxedOneHotCategorical(TransformedDistribution):
    """Relaxed one-hot distribution on the simplex; a lower `temperature` moves samples closer to
    one-hot vectors.
    """

    arg_constraints = Shares.arg_constraints
    support = constraints.simplex
    has_rsample = True
    temperature: Any = attribute("base_dist.temperature", "The temperature.")
    logits: Tensor = attribute("base_dist.logits", "The logarithms of the probabilities.")
    probs: Tensor = attribute("base_dist.probs", "The probabilities.")

    def __init__(
        self,
        temperature: object,
        probs: object = None,
        logits: object = None,
        validate_args: bool | None = None,
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)
