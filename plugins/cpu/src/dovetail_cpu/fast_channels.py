"""Normalization of channels by few passes over the images, some images at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy

from dovetail_aten.families.normalization.kernels.channel_normalization import (
    ChannelNormalization,
    check_batch_norm,
    check_group_norm,
)

from .constants import ones_of
from .products import dot
from .silence import LONG_ROW, row_by_row
from .small_channels import FEW, batch_norm, group_norm, transformed
from .sums_along import sum_along, sum_along_middle
from .threads import run_pieces, shared_step

_FLOATS: Final = (numpy.dtype(numpy.float32), numpy.dtype(numpy.float64))
_MANY: Final = 1 << 14
"""Elements from which blocks pay."""
_BLOCK: Final = 1 << 16
"""Elements at a time."""
_add: Any = numpy.add.reduce


def _in_blocks(x: Any, compute: Callable[[slice], object]) -> None:
    """Call `compute` with slices of images that are a block together."""
    images = len(x)
    step = shared_step(max(1, _BLOCK * images // x.size), images, x.size)
    if x.shape[-1] >= LONG_ROW:
        compute = row_by_row(compute)

    def some(first: int, last: int) -> None:
        for start in range(first * step, min(last * step, images), step):
            compute(slice(start, min(start + step, images)))

    run_pieces(some, -(-images // step), x.size)


def _sums(x: Any) -> Any:
    """Return the sums over the last dimension, by BLAS where that is short."""
    length = x.shape[-1]
    return dot(x, ones_of(length, x.dtype)) if length <= _LONGEST else _add(x, -1)


def _total(sums: Any) -> Any:
    """Return what the images have together, of a matrix of sums: added one after the other they
    would lose digits.
    """
    return sum_along_middle(sums[None])[0]


_LONGEST: Final = 1 << 12
"""Longest sum left to BLAS, which does not add pairwise."""


def _is_plain(x: Any, *more: Any) -> bool:
    """Return whether `x` is numbers in C order, and the other arrays are of its dtype."""
    fits = all([each is None or each.dtype is x.dtype for each in more])
    return bool(fits and x.dtype in _FLOATS and x.flags.c_contiguous)


def _is_large(x: Any, *more: Any) -> bool:
    """Return whether `x` is many numbers in C order, and the other arrays are of its dtype."""
    return x.size >= _MANY and _is_plain(x, *more)


def _are_vectors(parameters: Sequence[Any]) -> bool:
    """Return whether parameters have one dimension, as the passes here take for granted."""
    return all([each is None or each.ndim == 1 for each in parameters])


def _has_pixels(x: Any) -> bool:
    """Return whether channels have more than a number each, which is no row of a matrix else."""
    return bool(x.ndim > 2 and math.prod(x.shape[2:]) > 1)


def _in_order(x: Any) -> Any:
    """Return `x` in C order, if it is many floats."""
    return numpy.ascontiguousarray(x) if x.size >= _MANY and x.dtype in _FLOATS else x


class FastChannelNormalization(ChannelNormalization):
    """Batch and group normalization of small and of large images."""

    def _sum_over(self, x: Any, axes: tuple[int, ...]) -> Any:
        """Return one sum for each channel: added one after the other, rows would lose digits."""
        made = sum_along(x, axes, False) if x.size >= _MANY else None
        return ChannelNormalization._sum_over(self, x, axes) if made is None else made

    def batch_norm(
        self,
        x: Any,
        weight: Any,
        bias: Any,
        running_mean: Any,
        running_var: Any,
        training: bool,
        momentum: float,
        eps: float,
    ) -> tuple[Any, Any, Any, Any, Any]:
        """Return batch normalization, the statistics, and the running ones from now on."""
        parameters = (weight, bias, running_mean, running_var)
        if not _are_vectors(parameters):
            return ChannelNormalization.batch_norm(self, x, *parameters, training, momentum, eps)
        if 0 < x.size <= FEW and x.ndim > 1 and _is_plain(x, *parameters):
            return self._small_batch_norm(x, *parameters, training, momentum, eps)
        x = _in_order(x)
        if not _is_large(x, *parameters) or not _has_pixels(x):
            return ChannelNormalization.batch_norm(self, x, *parameters, training, momentum, eps)
        channels = check_batch_norm(x.shape, *parameters)
        images = x.reshape(len(x), channels, -1)
        clone, like = self.capabilities.clone, self.numbers.like
        nothing = numpy.zeros(0, x.dtype)
        made = numpy.empty(images.shape, x.dtype)
        if not training:
            rstd = self._reciprocal_root(running_var, eps)
            scale = rstd if weight is None else rstd * weight

            shift = -running_mean * scale if bias is None else bias - running_mean * scale

            def transform(some: slice) -> None:
                numpy.multiply(images[some], scale[:, None], out=made[some])
                numpy.add(made[some], shift[:, None], out=made[some])

            _in_blocks(images, transform)
            return (
                *(made.reshape(x.shape), nothing, nothing.copy()),
                *(clone(running_mean), clone(running_var)),
            )
        count = x.size // channels
        sums = numpy.empty(images.shape[:2], x.dtype)

        def add(some: slice) -> None:
            sums[some] = _sums(images[some])

        _in_blocks(images, add)
        mean = _total(sums) * like(x, 1 / count)

        def square(some: slice) -> None:
            away = numpy.subtract(images[some], mean[:, None], out=made[some])
            numpy.vecdot(away, away, out=sums[some])

        _in_blocks(images, square)
        squares = _total(sums)
        rstd = self._reciprocal_root(squares * like(x, 1 / count), eps)
        scale = rstd if weight is None else rstd * weight
        _in_blocks(images, lambda some: self._stretch(made[some], scale, bias))
        unbiased = squares * like(x, 1 / (count - 1) if count > 1 else math.nan)
        return (
            *(made.reshape(x.shape), mean, rstd),
            self._following(running_mean, mean, momentum),
            self._following(running_var, unbiased, momentum),
        )

    def _small_batch_norm(
        self,
        x: Any,
        weight: Any,
        bias: Any,
        running_mean: Any,
        running_var: Any,
        training: bool,
        momentum: float,
        eps: float,
    ) -> tuple[Any, Any, Any, Any, Any]:
        shape, dtype = x.shape, x.dtype
        channels = check_batch_norm(shape, weight, bias, running_mean, running_var)
        images = x.reshape(shape[0], channels, -1)
        if not training:
            rstd = self._reciprocal_root(running_var, eps)
            made = transformed(images, running_mean, rstd, weight, bias)
            nothing = numpy.empty(0, dtype)
            running = running_mean.copy(), running_var.copy()
            return (made.reshape(shape), nothing, nothing.copy(), *running)
        epsilon = self.numbers.of_dtype(eps, dtype)
        made, mean, variance, rstd = batch_norm(images, weight, bias, epsilon)
        count = x.size // channels
        unbiased = variance * self.numbers.like(x, count / (count - 1) if count > 1 else math.nan)
        return (
            *(made.reshape(shape), mean, rstd),
            self._following(running_mean, mean, momentum),
            self._following(running_var, unbiased, momentum),
        )

    def _following(self, running: Any, now: Any, momentum: float) -> Any:
        """Return a running statistic moved towards what it is now."""
        if running.dtype is not now.dtype:
            return ChannelNormalization._following(self, running, now, momentum)
        of_dtype, dtype = self.numbers.of_dtype, now.dtype
        kept = numpy.multiply(running, of_dtype(1 - momentum, dtype))
        return numpy.add(kept, numpy.multiply(now, of_dtype(momentum, dtype)), kept)

    def _stretch(self, images: Any, scale: Any, bias: Any) -> None:
        """Multiply channels by `scale` and add `bias`, in place."""
        numpy.multiply(images, scale[..., None], out=images)
        if bias is not None:
            numpy.add(images, bias[:, None], out=images)

    def batch_norm_backward(
        self,
        grad_out: Any,
        x: Any,
        weight: Any,
        running_mean: Any,
        running_var: Any,
        save_mean: Any,
        save_invstd: Any,
        train: bool,
        eps: float,
        output_mask: Sequence[bool],
    ) -> tuple[Any, Any, Any]:
        """Return the gradients of input, weight and bias that `output_mask` asks for."""
        statistics = (running_mean, running_var, save_mean, save_invstd)
        x, grad_out = _in_order(x), _in_order(grad_out)
        if (
            not _is_large(x, grad_out, weight, *statistics)
            or grad_out.shape != x.shape
            or not _has_pixels(x)
            or not _are_vectors((weight, *statistics))
        ):
            return ChannelNormalization.batch_norm_backward(
                self, grad_out, x, weight, *statistics, train, eps, output_mask
            )
        channels = check_batch_norm(x.shape, weight, None, running_mean, running_var)
        mean = save_mean if train else running_mean
        rstd = save_invstd if train else self._reciprocal_root(running_var, eps)
        images = x.reshape(len(x), channels, -1)
        grads = numpy.ascontiguousarray(grad_out).reshape(images.shape)
        totals, products = numpy.empty((2, *images.shape[:2]), x.dtype)

        def add(some: slice) -> None:
            totals[some] = _sums(grads[some])
            away = numpy.subtract(images[some], mean[:, None])
            numpy.vecdot(grads[some], away, out=products[some])

        _in_blocks(images, add)
        total, along = _total(totals), _total(products) * rstd
        to_input = None
        if output_mask[0]:
            scale = rstd if weight is None else rstd * weight
            share = self.numbers.like(x, channels / x.size)
            bend, shift = -scale * rstd * along * share, -scale * total * share
            made = numpy.empty(images.shape, x.dtype)

            def transform(some: slice) -> None:
                out = numpy.multiply(grads[some], scale[:, None], out=made[some])
                if train:
                    away = numpy.subtract(images[some], mean[:, None])
                    numpy.multiply(away, bend[:, None], out=away)
                    numpy.add(away, shift[:, None], out=away)
                    numpy.add(out, away, out=out)

            _in_blocks(images, transform)
            to_input = made.reshape(x.shape)
        return to_input, along if output_mask[1] else None, total if output_mask[2] else None

    def group_norm(
        self, x: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float
    ) -> tuple[Any, Any, Any]:
        """Return group normalization, the means and the reciprocal deviations."""
        if 0 < x.size <= FEW and x.size == N * C * HxW and _is_plain(x, weight, bias):
            check_group_norm(x.shape, weight, bias, C, group)
            epsilon = self.numbers.of_dtype(eps, x.dtype)
            made, mean, rstd = group_norm(x.reshape(N, C, HxW), group, weight, bias, epsilon)
            return made.reshape(x.shape), mean, rstd
        x = _in_order(x)
        if not _is_large(x, weight, bias):
            return ChannelNormalization.group_norm(self, x, weight, bias, N, C, HxW, group, eps)
        check_group_norm(x.shape, weight, bias, C, group)
        length = C // group * HxW
        rows = x.reshape(N, group, length)
        share = self.numbers.like(x, 1 / length)
        mean, rstd = numpy.empty((2, N, group), x.dtype)
        made = numpy.empty((N, C, HxW), x.dtype)
        each = C // group

        def transform(some: slice) -> None:
            mean[some] = _sums(rows[some]) * share
            out = made[some].reshape(-1, group, length)
            numpy.subtract(rows[some], mean[some, :, None], out=out)
            rstd[some] = self._reciprocal_root(numpy.vecdot(out, out) * share, eps)
            scale = rstd[some].repeat(each, 1)
            self._stretch(made[some], scale if weight is None else scale * weight, bias)

        _in_blocks(made, transform)
        return made.reshape(x.shape), mean, rstd

    def group_norm_backward(
        self,
        grad_out: Any,
        x: Any,
        mean: Any,
        rstd: Any,
        weight: Any,
        N: int,
        C: int,
        HxW: int,
        group: int,
        output_mask: Sequence[bool],
    ) -> tuple[Any, Any, Any]:
        """Return the gradients of input, weight and bias that `output_mask` asks for."""
        x = _in_order(x)
        if not _is_large(x, grad_out, mean, rstd, weight) or grad_out.shape != x.shape:
            return ChannelNormalization.group_norm_backward(
                self, grad_out, x, mean, rstd, weight, N, C, HxW, group, output_mask
            )
        check_group_norm(x.shape, weight, None, C, group)
        each = C // group
        images = x.reshape(N, C, HxW)
        grads = numpy.ascontiguousarray(grad_out).reshape(N, C, HxW)
        centers, inverses = [part.reshape(N, group).repeat(each, 1) for part in (mean, rstd)]
        totals, products = numpy.empty((2, N, C), x.dtype)
        made = numpy.empty((N, C, HxW), x.dtype)
        share = self.numbers.like(x, 1 / (each * HxW))

        def transform(some: slice) -> None:
            grad, out, inverse = grads[some], made[some], inverses[some]
            even = numpy.subtract(images[some], centers[some, :, None])
            numpy.multiply(even, inverse[..., None], out=even)
            totals[some] = total = _sums(grad)
            products[some] = along = numpy.vecdot(grad, even)
            if not output_mask[0]:
                return
            scale = inverse if weight is None else inverse * weight
            factor = inverse if weight is None else weight
            shift, bend = [
                -_add((part * factor if weight is not None else part).reshape(-1, group, each), 2)
                * share
                for part in (total, along)
            ]
            numpy.multiply(even, (bend.repeat(each, 1) * inverse)[..., None], out=even)
            numpy.add(even, (shift.repeat(each, 1) * inverse)[..., None], out=even)
            numpy.multiply(grad, scale[..., None], out=out)
            numpy.add(out, even, out=out)

        _in_blocks(images, transform)
        return (
            made.reshape(x.shape) if output_mask[0] else None,
            _total(products) if output_mask[1] else None,
            _total(totals) if output_mask[2] else None,
        )
