"""Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence

from ...kernel_support.dims import wrap_dims
from ...meta.meta_array import MetaArray
from ...meta.table import like
from .kernels import some_axes


def fft_c2c(self: MetaArray, dim: Sequence[int], normalization: int, forward: bool) -> MetaArray:
    if dim:
        wrap_dims(dim, self.ndim)
    return like(self)


def fft_r2c(self: MetaArray, dim: Sequence[int], normalization: int, onesided: bool) -> MetaArray:
    shape, axes = list(self.shape), some_axes(dim, self.ndim)
    if onesided:
        last = axes[-1]
        shape[last] = shape[last] // 2 + 1
    return like(self, shape, self.dtype.to_complex())


def fft_c2r(
    self: MetaArray, dim: Sequence[int], normalization: int, last_dim_size: int
) -> MetaArray:
    shape = list(self.shape)
    shape[some_axes(dim, self.ndim)[-1]] = last_dim_size
    return like(self, shape, self.dtype.to_real())
