"""The Gumbel distribution."""

from __future__ import annotations

from math import pi
from numbers import Number

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_kernel import finfo

from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant, validated

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """Gumbel distribution: ``loc - scale * log(-log(u))`` for uniform u."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}  # noqa: RUF012
    support = constraints.real

    def __init__(self, loc: object, scale: object, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        limits = finfo(self.loc.dtype)
        if isinstance(loc, Number) and isinstance(scale, Number):
            base = Uniform(limits.tiny, 1 - limits.eps, validate_args=validate_args)
        else:
            base = Uniform(
                aten.full_like(self.loc, limits.tiny),
                aten.full_like(self.loc, 1 - limits.eps),
                validate_args=validate_args,
            )
        transforms = [
            ExpTransform().inv,
            AffineTransform(loc=0, scale=-aten.ones_like(self.scale)),
            ExpTransform().inv,
            AffineTransform(loc=loc, scale=-self.scale),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    @property
    def mean(self) -> Tensor:
        """``loc + scale * 0.5772…``."""
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Tensor:
        """The parameter `loc`."""
        return self.loc

    @property
    def stddev(self) -> Tensor:
        """``pi / sqrt(6) * scale``."""
        return (pi / 6**0.5) * self.scale

    @property
    def variance(self) -> Tensor:
        """``pi ** 2 / 6 * scale ** 2``."""
        return self.stddev.pow(2)

    def entropy(self) -> Tensor:
        """Return ``log(scale) + 1.5772…``."""
        return self.scale.log() + (1 + euler_constant)
