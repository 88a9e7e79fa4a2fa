"""Distributions of transformed samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_aten import Tensor
from dovetail_autograd import no_grad
from dovetail_kernel import Size

from . import constraints
from .distribution import Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import _sum_rightmost, validated

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of ``transforms(x)`` for x from a base distribution.

    Parameters
    ----------
    base_distribution
        The distribution of x.
    transforms
        A transform, or several in the order of application.
    """

    arg_constraints = {}  # noqa: RUF012
    base_dist: Any

    def __init__(
        self, base_distribution: object, transforms: object, validate_args: bool | None = None
    ) -> None:
        if isinstance(transforms, Transform):
            transforms = [transforms]
        if not isinstance(transforms, list) or not all(
            [isinstance(each, Transform) for each in transforms]
        ):
            raise ValueError(
                f"transforms must be a Transform or list, but was {transforms}"
                if not isinstance(transforms, list)
                else "transforms must be a Transform or a list of Transforms"
            )
        self.transforms = transforms
        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        events = len(base_distribution.event_shape)
        transform = ComposeTransform(transforms)
        if len(base_shape) < transform.domain.event_dim:
            raise ValueError(
                "base_distribution needs to have shape with size at least "
                f"{transform.domain.event_dim}, but got {base_shape}."
            )
        shape = transform.forward_shape(base_shape)
        expanded = transform.inverse_shape(shape)
        if tuple(base_shape) != tuple(expanded):
            base_distribution = base_distribution.expand(expanded[: len(expanded) - events])
        missing = transform.domain.event_dim - events
        if missing > 0:
            base_distribution = Independent(base_distribution, missing)
        self.base_dist = base_distribution
        change = transform.codomain.event_dim - transform.domain.event_dim
        events = max(transform.codomain.event_dim, events + change)
        place = len(shape) - events
        super().__init__(shape[:place], shape[place:], validate_args=validate_args)

    def _expand_into(self, new: object, batch_shape: Sequence[int]) -> None:
        new.transforms = self.transforms
        shape = Size((*batch_shape, *self._event_shape))
        for each in reversed(self.transforms):
            shape = each.inverse_shape(shape)
        place = len(shape) - len(self.base_dist.event_shape)
        new.base_dist = self.base_dist.expand(shape[:place])

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        """The codomain of the last transform."""
        if not self.transforms:
            return self.base_dist.support
        found = self.transforms[-1].codomain
        missing = len(self._event_shape) - found.event_dim
        return constraints.independent(found, missing) if missing > 0 else found

    @property
    def has_rsample(self) -> bool:
        """Whether samples of the base are differentiable."""
        return self.base_dist.has_rsample

    def _transformed(self, x: Tensor) -> Tensor:
        for each in self.transforms:
            x = each(x)
        return x

    @no_grad()
    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return transformed samples, without gradients."""
        return self._transformed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return transformed samples, with gradients."""
        return self._transformed(self.base_dist.rsample(sample_shape))

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        """Return the log-density: the log-density of the base minus the log-Jacobians."""
        total: Any = 0.0
        events, y = len(self._event_shape), value
        for each in reversed(self.transforms):
            x = each.inv(y)
            events += each.domain.event_dim - each.codomain.event_dim
            jacobian = each.log_abs_det_jacobian(x, y)
            total = total - _sum_rightmost(jacobian, events - each.domain.event_dim)
            y = x
        found = self.base_dist.log_prob(y)
        return total + _sum_rightmost(found, events - len(self.base_dist.event_shape))

    def _monotonic(self, value: Tensor) -> Tensor:
        """Return probabilities, or their complements where the transforms fall."""
        sign: Any = 1
        for each in self.transforms:
            sign = sign * each.sign
        if isinstance(sign, int) and sign == 1:
            return value
        return sign * (value - 0.5) + 0.5

    @validated
    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of values up to `value`; the transforms must be monotonic."""
        for each in reversed(self.transforms):
            value = each.inv(value)
        if self.base_dist._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonic(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        """Return the quantile of a probability; the transforms must be monotonic."""
        return self._transformed(self.base_dist.icdf(self._monotonic(value)))
