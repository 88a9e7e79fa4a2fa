"""Distributions whose last batch dimensions belong to the event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_aten import Tensor

from . import constraints
from .distribution import Distribution
from .utils import _sum_rightmost

__all__ = ["Independent"]


def _of_base(name: str) -> property:
    return property(lambda self: getattr(self.base_dist, name), doc=f"`{name}` of the base.")


class Independent(Distribution):
    """Joint distribution that treats the last batch dimensions as independent parts of an event.

    Parameters
    ----------
    base_distribution
        The distributions.
    reinterpreted_batch_ndims
        Number of dimensions.
    """

    arg_constraints = {}  # noqa: RUF012
    base_dist: Any
    mean, mode, variance = _of_base("mean"), _of_base("mode"), _of_base("variance")
    has_rsample = _of_base("has_rsample")

    def __init__(
        self,
        base_distribution: object,
        reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ) -> None:
        if reinterpreted_batch_ndims > len(base_distribution.batch_shape):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                f"{reinterpreted_batch_ndims} vs {len(base_distribution.batch_shape)}"
            )
        shape = base_distribution.batch_shape + base_distribution.event_shape
        events = reinterpreted_batch_ndims + len(base_distribution.event_shape)
        place = len(shape) - events
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__(shape[:place], shape[place:], validate_args=validate_args)

    def _expand_into(self, new: object, batch_shape: Sequence[int]) -> None:
        taken = self._event_shape[: self.reinterpreted_batch_ndims]
        new.base_dist = self.base_dist.expand((*batch_shape, *taken))
        new.reinterpreted_batch_ndims = self.reinterpreted_batch_ndims

    @property
    def has_enumerate_support(self) -> bool:
        """Whether the base has it and no dimension is reinterpreted."""
        return self.reinterpreted_batch_ndims <= 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self) -> Any:
        """The support of the base, with more event dimensions."""
        found = self.base_dist.support
        if self.reinterpreted_batch_ndims:
            return constraints.independent(found, self.reinterpreted_batch_ndims)
        return found

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples of the base."""
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples of the base, with gradients."""
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the entropies of the base, summed over the event."""
        found = self.base_dist.log_prob(value)
        return _sum_rightmost(found, self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        """Return the entropies of the base, summed over the event."""
        found = self.base_dist.entropy()
        return _sum_rightmost(found, self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return the support of the base, if no dimension is reinterpreted."""
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError(
                "Enumeration over cartesian product is not implemented. Enumerate the base "
                "distribution."
            )
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"
