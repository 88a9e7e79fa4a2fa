"""The geometric distribution."""

from __future__ import annotations

from collections.abc import Sequence

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_autograd import no_grad
from dovetail_kernel import finfo

from ..nn.functional import binary_cross_entropy_with_logits
from . import constraints
from .chances import Chances
from .utils import broadcast_all, holds_everywhere, validated

__all__ = ["Geometric"]


class Geometric(Chances):
    """Geometric distribution: number of failures before the first success with probability `probs`
    (or log-odds `logits`).
    """

    support = constraints.nonnegative_integer

    def __init__(
        self, probs: object = None, logits: object = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(probs, logits, validate_args)
        if self._validate_args and probs is not None and not holds_everywhere(self.probs > 0):
            bad = self.probs[self.probs <= 0]
            raise ValueError(
                f"Expected parameter probs ({type(self.probs).__name__} of shape "
                f"{tuple(self.probs.shape)}) of distribution {self!r} to be positive but found "
                f"invalid values:\n{bad}"
            )

    @property
    def mean(self) -> Tensor:
        """``1 / probs - 1``."""
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        """0."""
        return aten.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        """``(1 / probs - 1) / probs``."""
        return (1.0 / self.probs - 1.0) / self.probs

    @no_grad()
    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        tiny = finfo(self.probs.dtype).tiny
        u = self.probs.new_empty(self._extended_shape(sample_shape)).uniform_(tiny, 1)
        return (u.log() / (-self.probs).log1p()).floor()

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        value, probs = broadcast_all(value, self.probs)
        failures = (-probs.masked_fill((probs == 1) & (value == 0), 0)).log1p()
        return value * failures + self.probs.log()

    def entropy(self) -> Tensor:
        """Return the entropy of the Bernoulli distribution divided by the probability."""
        return (
            binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
        )
