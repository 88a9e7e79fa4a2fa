"""The multinomial distribution."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_autograd import no_grad

from . import constraints
from .binomial import Binomial
from .categorical import Categorical
from .chances import Shares
from .utils import broadcast_all, validated

__all__ = ["Multinomial"]


class Multinomial(Shares):
    """Multinomial distribution: counts of categories in `total_count` trials, with probabilities
    `probs` or `logits`.
    """

    def __init__(
        self,
        total_count: int = 1,
        probs: object = None,
        logits: object = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=categorical.probs)
        self._set_shares(validate_args, categorical)

    def _expand_into(self, new: object, batch_shape: Sequence[int]) -> None:
        super()._expand_into(new, batch_shape)
        new.total_count = self.total_count
        new._binomial = Binomial(total_count=self.total_count, probs=new.probs)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        """Counts that sum to the number of trials, or to less."""
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        """``total_count * probs``."""
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        """``total_count * probs * (1 - probs)``."""
        return self.total_count * self.probs * (1 - self.probs)

    @no_grad()
    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        drawn = self._categorical.sample((self.total_count, *sample_shape)).movedim(0, -1)
        counts = self.probs.new_zeros(self._extended_shape(sample_shape))
        return counts.scatter_add_(-1, drawn, aten.ones_like(drawn, dtype=counts.dtype))

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -inf), 0)
        ways = aten.lgamma(value.sum(-1) + 1) - aten.lgamma(value + 1).sum(-1)
        return ways + (logits * value).sum(-1)

    def entropy(self) -> Tensor:
        n = aten.tensor(self.total_count)
        counts = self._binomial.enumerate_support(expand=False)[1:]
        weights = aten.exp(self._binomial.log_prob(counts))
        repeats = (weights * aten.lgamma(counts + 1)).sum([0, -1])
        return n * self._categorical.entropy() - aten.lgamma(n + 1) + repeats
