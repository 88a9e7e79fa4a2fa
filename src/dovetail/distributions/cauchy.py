"""The Cauchy distribution."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nan, pi

import dovetail_aten as aten
from dovetail_aten import Tensor

from . import constraints
from .distribution import Distribution
from .utils import attribute, validated

__all__ = ["Cauchy"]


class Cauchy(Distribution):
    """Cauchy distribution around `loc` with half width `scale`."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}  # noqa: RUF012
    support = constraints.real
    has_rsample = True
    mode = attribute("loc")

    def __init__(self, loc: object, scale: object, validate_args: bool | None = None) -> None:
        self._set(validate_args, loc=loc, scale=scale)

    @property
    def mean(self) -> Tensor:
        """NaN: the mean does not exist."""
        return aten.full(self._extended_shape(), nan, dtype=self.loc.dtype)

    @property
    def variance(self) -> Tensor:
        """Infinity."""
        return aten.full(self._extended_shape(), inf, dtype=self.loc.dtype)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return ``loc + scale * c`` of standard numbers c."""
        drawn = self.loc.new_empty(self._extended_shape(sample_shape)).cauchy_()
        return self.loc + drawn * self.scale

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        z = (value - self.loc) / self.scale
        return -(pi * self.scale).log() - (z**2).log1p()

    @validated
    def cdf(self, value: Tensor) -> Tensor:
        return aten.atan((value - self.loc) / self.scale) / pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return aten.tan(pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self) -> Tensor:
        """Return ``log(4 pi scale)``."""
        return (4 * pi * self.scale).log()
