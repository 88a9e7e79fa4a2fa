"""Random numbers: their shapes are those of what they are drawn for."""

from __future__ import annotations

from ...kernel_support.geometry.broadcasting import broadcast_shapes
from ...meta.meta_array import MetaArray
from ...meta.table import like


def normal_around(mean: MetaArray, std: float = 1.0, *, generator: object = None) -> MetaArray:
    return like(mean)


def normal_as_wide(mean: float, std: MetaArray, *, generator: object = None) -> MetaArray:
    return like(std)


def normal_of_both(mean: MetaArray, std: MetaArray, *, generator: object = None) -> MetaArray:
    return like(mean, broadcast_shapes([mean.shape, std.shape]))


def poisson(self: MetaArray, generator: object = None) -> MetaArray:
    return like(self)


def binomial(count: MetaArray, prob: MetaArray, generator: object = None) -> MetaArray:
    return like(count, broadcast_shapes([count.shape, prob.shape]))


def bernoulli_of(self: MetaArray, p: float, *, generator: object = None) -> MetaArray:
    return like(self)


def slopes_of_rrelu(
    self: MetaArray, lower: float, upper: float, generator: object = None
) -> MetaArray:
    return like(self)
