"""Pooling and unpooling of images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail_kernel import int64

from ...meta.meta_array import MetaArray
from ...meta.table import like
from .kernels.pooling_geometry import (
    averaged_windows,
    check_adaptive,
    check_fractional,
    check_unpooled,
    pooled_windows,
)

Pair = tuple[MetaArray, MetaArray]


def _with_places(self: MetaArray, ndim: int, sizes: Sequence[int]) -> Pair:
    """Return maxima and their places."""
    shape = (*self.shape[: self.ndim - ndim], *sizes)
    return like(self, shape), like(self, shape, int64)


def _max_pool(name: str, ndim: int) -> Callable[..., Pair]:
    def rule(
        self: MetaArray,
        kernel_size: Sequence[int],
        stride: Sequence[int] = (),
        padding: Sequence[int] = (0,),
        dilation: Sequence[int] = (1,),
        ceil_mode: bool = False,
    ) -> Pair:
        windows = pooled_windows(
            name, ndim, self.shape, kernel_size, stride, padding, dilation, ceil_mode
        )
        return _with_places(self, ndim, [window.number for window in windows])

    return rule


def _avg_pool(name: str, ndim: int) -> Callable[..., MetaArray]:
    def rule(self: MetaArray, *how: Any) -> MetaArray:
        runs, _ = averaged_windows(name, ndim, self.shape, *how)
        return like(self, (*self.shape[:-ndim], *[len(each.starts) for each in runs]))

    return rule


def _adaptive_avg_pool(name: str, ndim: int) -> Callable[..., MetaArray]:
    def rule(self: MetaArray, output_size: Sequence[int]) -> MetaArray:
        check_adaptive(name, ndim, self.shape, output_size)
        return like(self, (*self.shape[:-ndim], *output_size))

    return rule


def _adaptive_max_pool(name: str, ndim: int) -> Callable[..., Pair]:
    def rule(self: MetaArray, output_size: Sequence[int]) -> Pair:
        check_adaptive(name, ndim, self.shape, output_size, empty_channels=False)
        return _with_places(self, ndim, output_size)

    return rule


def _fractional_max_pool(name: str, ndim: int) -> Callable[..., Pair]:
    def rule(
        self: MetaArray,
        kernel_size: Sequence[int],
        output_size: Sequence[int],
        random_samples: MetaArray,
    ) -> Pair:
        check_fractional(name, ndim, self, kernel_size, output_size, random_samples)
        return _with_places(self, ndim, output_size)

    return rule


max_pool2d_with_indices = _max_pool("max_pool2d", 2)
max_pool3d_with_indices = _max_pool("max_pool3d", 3)
avg_pool2d = _avg_pool("avg_pool2d", 2)
avg_pool3d = _avg_pool("avg_pool3d", 3)
adaptive_avg_pool2d = _adaptive_avg_pool("adaptive_avg_pool2d", 2)
adaptive_avg_pool3d = _adaptive_avg_pool("adaptive_avg_pool3d", 3)
adaptive_max_pool2d = _adaptive_max_pool("adaptive_max_pool2d", 2)
adaptive_max_pool3d = _adaptive_max_pool("adaptive_max_pool3d", 3)
fractional_max_pool2d = _fractional_max_pool("fractional_max_pool2d", 2)
fractional_max_pool3d = _fractional_max_pool("fractional_max_pool3d", 3)


def max_unpool2d(self: MetaArray, indices: MetaArray, output_size: Sequence[int]) -> MetaArray:
    check_unpooled("max_unpool2d", 2, self, indices, output_size, indices.dtype)
    return like(self, (*self.shape[:-2], *output_size))


def max_unpool3d(
    self: MetaArray,
    indices: MetaArray,
    output_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
) -> MetaArray:
    check_unpooled("max_unpool3d", 3, self, indices, output_size, indices.dtype, stride, padding)
    return like(self, (*self.shape[:-3], *output_size))


def pool_backward(grad_output: MetaArray, self: MetaArray, *how: Any) -> MetaArray:
    return like(self)
