"""Mixtures of distributions of one family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_autograd import no_grad

from . import constraints
from .categorical import Categorical
from .distribution import Distribution
from .utils import attribute

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """Mixture of distributions of one family.

    Parameters
    ----------
    mixture_distribution
        The weights: a `Categorical`.
    component_distribution
        The components, along the last batch dimension.
    """

    arg_constraints = {}  # noqa: RUF012
    has_rsample = False
    mixture_distribution = attribute("_mixture_distribution")
    component_distribution = attribute("_component_distribution")

    def __init__(
        self,
        mixture_distribution: object,
        component_distribution: object,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                " The Mixture distribution needs to be an  instance of torch.distributions."
                "Categorical"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution need to be an instance of torch.distributions."
                "Distribution"
            )
        shape = component_distribution.batch_shape
        for one, other in zip(
            reversed(mixture_distribution.batch_shape), reversed(shape[:-1]), strict=False
        ):
            if one != 1 and other != 1 and one != other:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixture_distribution.batch_shape}) is "
                    "not compatible with `component_distribution.batch_shape`"
                    f"({shape[:-1]})"
                )
        count, known = mixture_distribution.logits.shape[-1], shape[-1]
        if count != known:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({known})"
            )
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        self._num_component = known
        super().__init__(
            shape[:-1], component_distribution.event_shape, validate_args=validate_args
        )

    def _expand_into(self, new: object, batch_shape: Sequence[int]) -> None:
        new._num_component = self._num_component
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._component_distribution = self._component_distribution.expand(
            (*batch_shape, self._num_component)
        )

    @constraints.dependent_property
    def support(self) -> Any:
        """The support of the components."""
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    def _weights(self) -> Tensor:
        """Return the chances of the components, with dimensions for the event."""
        probs = self._mixture_distribution.probs
        return probs.reshape((*probs.shape, *(1,) * len(self._event_shape)))

    def _mixed(self, values: Tensor) -> Tensor:
        """Return means over the components."""
        return (self._weights() * values).sum(-1 - len(self._event_shape))

    @property
    def mean(self) -> Tensor:
        """The mean of the components' means."""
        return self._mixed(self._component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        """The mean of the components' variances, plus the variance of their means."""
        component = self._component_distribution
        place = len(self._batch_shape)
        offset = component.mean - self.mean.unsqueeze(place)
        return self._mixed(component.variance) + self._mixed(offset.pow(2.0))

    def _padded(self, value: Tensor) -> Tensor:
        return value.unsqueeze(-1 - len(self._event_shape))

    def cdf(self, value: Tensor) -> Tensor:
        found = self._component_distribution.cdf(self._padded(value))
        return (found * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, x: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(x)
        found = self._component_distribution.log_prob(self._padded(x))
        weights = aten.log_softmax(self._mixture_distribution.logits, dim=-1)
        return aten.logsumexp(found + weights, dim=-1)

    @no_grad()
    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        events = len(self._event_shape)
        place = len(sample_shape) + len(self._batch_shape)
        chosen = self._mixture_distribution.sample(sample_shape)
        drawn = self._component_distribution.sample(sample_shape)
        chosen = chosen.reshape((*chosen.shape, *(1,) * (events + 1)))
        chosen = chosen.expand((*chosen.shape[: place + 1], *self._event_shape))
        return aten.gather(drawn, place, chosen).squeeze(place)

    def __repr__(self) -> str:
        return (
            f"MixtureSameFamily(\n  {self._mixture_distribution},\n  "
            f"{self._component_distribution})"
        )
