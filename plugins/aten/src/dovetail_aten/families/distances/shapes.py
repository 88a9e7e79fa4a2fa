"""Distances and lengths."""

from __future__ import annotations

from ...kernel_support.checks.norm_checks import check_renorm
from ...kernel_support.geometry.broadcasting import broadcast_shapes
from ...meta.meta_array import MetaArray
from ...meta.table import dense_like, like


def euclidean_dist(x1: MetaArray, x2: MetaArray) -> MetaArray:
    batch = broadcast_shapes([x1.shape[:-2], x2.shape[:-2]])
    return like(x1, (*batch, x1.shape[-2], x2.shape[-2]))


def renorm(self: MetaArray, p: object, dim: int, maxnorm: object) -> MetaArray:
    check_renorm(self.shape, p, dim, maxnorm)
    return dense_like(self)
