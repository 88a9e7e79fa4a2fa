"""The normal distribution."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_autograd import no_grad

from . import constraints
from .exp_family import ExponentialFamily
from .utils import _standard_normal, attribute, validated

__all__ = ["Normal"]

_HALF_LOG_TWO_PI = 0.9189385332046727


class Normal(ExponentialFamily):
    """Normal distribution with mean `loc` and standard deviation `scale`."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}  # noqa: RUF012
    support = constraints.real
    has_rsample = True
    _mean_carrier_measure = 0
    mean = mode = attribute("loc")
    stddev = attribute("scale")

    def __init__(self, loc: object, scale: object, validate_args: bool | None = None) -> None:
        self._set(validate_args, loc=loc, scale=scale)

    @property
    def variance(self) -> Tensor:
        """``scale ** 2``."""
        return self.scale.pow(2)

    @no_grad()
    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return aten.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return ``loc + scale * z`` of standard normal z."""
        shape = self._extended_shape(sample_shape)
        return self.loc + _standard_normal(shape, self.loc.dtype, self.loc.device) * self.scale

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        z = (value - self.loc) / self.scale
        return -(z**2) / 2 - self.scale.log() - _HALF_LOG_TWO_PI

    @validated
    def cdf(self, value: Tensor) -> Tensor:
        return 0.5 * (1 + aten.erf((value - self.loc) * self.scale.reciprocal() / 2**0.5))

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * aten.erfinv(2 * value - 1) * 2**0.5

    def entropy(self) -> Tensor:
        """Return ``1 / 2 + log(2 pi) / 2 + log(scale)``."""
        return 0.5 + _HALF_LOG_TWO_PI + aten.log(self.scale)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.loc / self.scale.pow(2), -0.5 * self.scale.pow(2).reciprocal()

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return -0.25 * x.pow(2) / y + 0.5 * aten.log(-pi / y)
