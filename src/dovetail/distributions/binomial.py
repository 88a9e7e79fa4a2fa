"""The binomial distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_autograd import no_grad

from . import constraints
from .chances import Chances
from .utils import validated

__all__ = ["Binomial"]


def _positive_part(x: Tensor) -> Tensor:
    """Return x where it is positive, else 0; the gradient at 0 is a half."""
    return (x.clamp(min=0) + x - x.clamp(max=0)) / 2


class Binomial(Chances):
    """Binomial distribution: number of successes with probability `probs` (or log-odds `logits`) in
    `total_count` trials.
    """

    arg_constraints = {  # noqa: RUF012
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True
    total_count: Tensor

    def __init__(
        self,
        total_count: object = 1,
        probs: object = None,
        logits: object = None,
        validate_args: bool | None = None,
    ) -> None:
        self._set_chances(validate_args, probs, logits, total_count=total_count)
        self.total_count = self.total_count.type_as(self._param)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """0 up to the number of trials."""
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        """``total_count * probs``."""
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        """``floor((total_count + 1) * probs)``, at most `total_count`."""
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        """``total_count * probs * (1 - probs)``."""
        return self.total_count * self.probs * (1 - self.probs)

    @no_grad()
    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return aten.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        count, logits = self.total_count, self.logits
        chosen = aten.lgamma(count + 1) - aten.lgamma(value + 1) - aten.lgamma(count - value + 1)
        # log(1 + exp(logits)), without overflow
        normalizer = _positive_part(logits) + aten.log1p(aten.exp(-aten.abs(logits)))
        return value * logits - count * normalizer + chosen

    def entropy(self) -> Tensor:
        """Return the entropy; the counts must be equal."""
        if not self.total_count.min() == self.total_count.max():
            raise NotImplementedError(
                "Inhomogeneous total count not supported by `entropy`. Ask for each of them."
            )
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(aten.exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return 0 up to the number of trials, which must be the same for all."""
        most = int(self.total_count.max())
        if not self.total_count.min() == most:
            raise NotImplementedError(
                "Inhomogeneous total count not supported by `enumerate_support`. Ask for each of "
                "them."
            )
        values = aten.arange(1 + most, dtype=self._param.dtype, device=self._param.device)
        return self._enumerated(values, expand)
