"""The categorical distribution."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_autograd import no_grad
from dovetail_kernel import Size, finfo, int64

from . import constraints
from .chances import OneOfTwo
from .utils import exclusive, lazy_property, logits_to_probs, probs_to_logits, validated

__all__ = ["Categorical"]


class Categorical(OneOfTwo):
    """Category indices with probabilities `probs`, which are normalized, or `logits`."""

    arg_constraints = {  # noqa: RUF012
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    has_enumerate_support = True

    def __init__(
        self, probs: object = None, logits: object = None, validate_args: bool | None = None
    ) -> None:
        exclusive(probs=probs, logits=logits)
        name, given = ("logits", logits) if probs is None else ("probs", probs)
        if given.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if probs is None:
            normalized = logits - logits.logsumexp(dim=-1, keepdim=True)
        else:
            normalized = probs / probs.sum(-1, keepdim=True)
        vars(self)[name] = normalized  # the other one is computed when it is asked for
        self._num_events = given.size(-1)
        super().__init__(given.shape[:-1], validate_args=validate_args)

    def _expand_into(self, new: object, batch_shape: Sequence[int]) -> None:
        new._num_events = self._num_events

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """Integers from 0 up to the number of categories minus 1."""
        return constraints.integer_interval(0, self._num_events - 1)

    @lazy_property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities."""
        return logits_to_probs(self.logits)

    @property
    def mean(self) -> Tensor:
        """NaN: categories are not numbers."""
        return self._missing()

    @property
    def variance(self) -> Tensor:
        """NaN: categories are not numbers."""
        return self._missing()

    def _missing(self) -> Tensor:
        options: Any = {"dtype": self.probs.dtype, "device": self.probs.device}
        return aten.full(self._extended_shape(), nan, **options)

    @property
    def mode(self) -> Tensor:
        """The most probable index."""
        return self.probs.argmax(dim=-1)

    @no_grad()
    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        rows = self.probs.reshape(-1, self._num_events)
        drawn = aten.multinomial(rows, Size(sample_shape).numel(), True).T
        return drawn.reshape(self._extended_shape(sample_shape))

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        value, logits = aten.broadcast_tensors([value.long().unsqueeze(-1), self.logits])
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        logits = self.logits.clamp(min=finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return all indices."""
        values = aten.arange(self._num_events, dtype=int64, device=self._param.device)
        return self._enumerated(values, expand)
