"""The Laplace distribution."""

from __future__ import annotations

from collections.abc import Sequence

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_kernel import finfo

from . import constraints
from .distribution import Distribution
from .utils import attribute, validated

__all__ = ["Laplace"]


class Laplace(Distribution):
    """Laplace distribution around `loc` with the given `scale`."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}  # noqa: RUF012
    support = constraints.real
    has_rsample = True
    mean = mode = attribute("loc")

    def __init__(self, loc: object, scale: object, validate_args: bool | None = None) -> None:
        self._set(validate_args, loc=loc, scale=scale)

    @property
    def variance(self) -> Tensor:
        """``2 scale ** 2``."""
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Tensor:
        """``sqrt(2) scale``."""
        return 2**0.5 * self.scale

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return quantiles of uniform numbers."""
        low = finfo(self.loc.dtype).eps - 1
        u = self.loc.new_empty(self._extended_shape(sample_shape)).uniform_(low, 1)
        return self.loc - self.scale * u.sign() * aten.log1p(-u.abs())

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        return -aten.log(2 * self.scale) - aten.abs(value - self.loc) / self.scale

    @validated
    def cdf(self, value: Tensor) -> Tensor:
        distance = value - self.loc
        return 0.5 - 0.5 * distance.sign() * aten.expm1(-distance.abs() / self.scale)

    def icdf(self, value: Tensor) -> Tensor:
        term = value - 0.5
        return self.loc - self.scale * term.sign() * aten.log1p(-2 * term.abs())

    def entropy(self) -> Tensor:
        """Return ``1 + log(2 scale)``."""
        return 1 + aten.log(2 * self.scale)
