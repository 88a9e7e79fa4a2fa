"""Categories as vectors with one 1."""

from __future__ import annotations

from collections.abc import Sequence

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_autograd import no_grad
from dovetail_kernel import Size

from ..nn.functional import one_hot
from . import constraints
from .categorical import Categorical
from .chances import Shares
from .utils import attribute, clamp_probs, validated

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(Shares):
    """Categorical distribution over one-hot vectors, with probabilities `probs` or `logits`."""

    support = constraints.one_hot
    has_enumerate_support = True
    mean = attribute("probs")

    def __init__(
        self, probs: object = None, logits: object = None, validate_args: bool | None = None
    ) -> None:
        self._set_shares(validate_args, Categorical(probs, logits))

    @property
    def mode(self) -> Tensor:
        """The vector of the most probable category."""
        return one_hot(self.probs.argmax(dim=-1), self._event_shape[0]).to(self.probs)

    @property
    def variance(self) -> Tensor:
        """``probs * (1 - probs)``."""
        return self.probs * (1 - self.probs)

    @no_grad()
    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        drawn = self._categorical.sample(Size(sample_shape))
        return one_hot(drawn, self._event_shape[0]).to(self.probs)

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return the vectors of all categories."""
        n = self._event_shape[0]
        values = aten.eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.view((n, *(1,) * len(self._batch_shape), n))
        return values.expand((n, *self._batch_shape, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """`OneHotCategorical` whose samples have the gradients of the probabilities (Bengio et al.
    2013, arXiv:1308.3432).
    """

    has_rsample = True

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples that have the gradients of the probabilities."""
        drawn = self.sample(sample_shape)
        probs = clamp_probs(self.probs)
        return drawn + (probs - probs.detach())
