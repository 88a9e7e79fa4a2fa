"""Normalization of channels of small images: what a channel has is repeated for its elements by a
table that is kept, and sums are products, since there every call of NumPy costs more than what it
computes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy

from .constants import ones_of
from .repeating import across

FEW: Final = 1 << 12
"""Elements up to which these are faster."""
_KEPT: Final = 64
_add, _subtract, _multiply = numpy.add, numpy.subtract, numpy.multiply
_sqrt, _reciprocal = numpy.sqrt, numpy.reciprocal


@lru_cache(_KEPT)
def _average(length: int, count: int, dtype: Any) -> Any:
    """Return the vector whose product with rows is their share in a mean of `count` elements."""
    return numpy.full(length, 1 / count, dtype)


@lru_cache(_KEPT)
def _channels_of(images: int, channels: int, pixels: int) -> Any:
    """Return the channel of each element of ``(images, channels, pixels)``."""
    lines = numpy.arange(channels).repeat(pixels).reshape(1, channels, pixels)
    return lines.repeat(images, 0)


def _reciprocal_root(variance: Any, epsilon: Any) -> Any:
    made = _add(variance, epsilon)
    return _reciprocal(_sqrt(made, made), made)


def batch_norm(images: Any, weight: Any, bias: Any, epsilon: Any) -> tuple[Any, Any, Any, Any]:
    """Return normalized images ``(images, channels, pixels)``, and mean, variance and reciprocal
    deviation of each channel.
    """
    samples, _, pixels = images.shape
    table = _channels_of(*images.shape)
    average = _average(pixels, samples * pixels, images.dtype)
    every = ones_of(samples, images.dtype)
    mean = every.dot(images.dot(average))
    away = _subtract(images, mean.take(table))
    variance = every.dot(_multiply(away, away).dot(average))
    rstd = _reciprocal_root(variance, epsilon)
    return scaled(away, rstd, weight, bias), mean, variance, rstd


def scaled(away: Any, rstd: Any, weight: Any, bias: Any) -> Any:
    """Return ``away * rstd * weight + bias``, written over `away`."""
    table = _channels_of(*away.shape)
    scale = rstd if weight is None else _multiply(rstd, weight)
    made = _multiply(away, scale.take(table), away)
    return made if bias is None else _add(made, bias.take(table), made)


def transformed(images: Any, mean: Any, rstd: Any, weight: Any, bias: Any) -> Any:
    """Return images normalized by a given mean and reciprocal deviation for each channel."""
    away = _subtract(images, mean.take(_channels_of(*images.shape)))
    return scaled(away, rstd, weight, bias)


def group_norm(
    images: Any, group: int, weight: Any, bias: Any, epsilon: Any
) -> tuple[Any, Any, Any]:
    """Return images ``(images, channels, pixels)`` normalized in groups of channels, and mean and
    reciprocal deviation of each group.
    """
    samples = len(images)
    rows = images.reshape(samples * group, -1)
    length = rows.shape[1]
    average = _average(length, length, images.dtype)
    mean = rows.dot(average)
    away = _subtract(rows, across(mean, length))
    rstd = _reciprocal_root(_multiply(away, away).dot(average), epsilon)
    made = _multiply(away, across(rstd, length), away).reshape(images.shape)
    table = _channels_of(*images.shape)
    if weight is not None:
        _multiply(made, weight.take(table), made)
    if bias is not None:
        _add(made, bias.take(table), made)
    return made, mean.reshape(samples, group), rstd.reshape(samples, group)
