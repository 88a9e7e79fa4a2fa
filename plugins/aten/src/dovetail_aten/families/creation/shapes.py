"""Factories and random numbers whose size is computed from their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_kernel import dtype as DType
from dovetail_kernel import int64

from ...kernel_support.geometry.memory_layout import (
    check_physical_layout,
    required_order,
    strides_in_order,
)
from ...kernel_support.geometry.view_bounds import check_strides
from ...meta.meta_array import MetaArray
from ...meta.table import broadcast_result, like
from .kernels.complex_parts import whole_dtype
from .kernels.range_lengths import check_bounds, range_length


def empty(
    size: Sequence[int], *, dtype: Any = None, memory_format: Any = None, **_options: Any
) -> MetaArray:
    return MetaArray(size, dtype, strides_in_order(size, required_order(memory_format, len(size))))


def empty_strided(
    size: Sequence[int], stride: Sequence[int], *, dtype: Any = None, **_options: Any
) -> MetaArray:
    check_strides(size, stride, dtype.itemsize)
    return MetaArray(size, dtype, stride)


def new_empty_strided(
    self: MetaArray,
    size: Sequence[int],
    stride: Sequence[int],
    *,
    dtype: object = None,
    **_options: Any,
) -> MetaArray:
    return empty_strided(size, stride, dtype=dtype or self.dtype)


def arange(end: int, *, dtype: Any = None, **_options: Any) -> MetaArray:
    return MetaArray((range_length(0, end, 1, dtype),), dtype)


def arange_from(start: Any, end: object, *, dtype: Any = None, **_options: Any) -> MetaArray:
    return MetaArray((range_length(start, end, 1, dtype),), dtype)


def arange_by(
    start: int, end: int, step: int = 1, *, dtype: Any = None, **_options: Any
) -> MetaArray:
    return MetaArray((range_length(start, end, step, dtype),), dtype)


def linspace(start: int, end: int, steps: int, *, dtype: Any = None, **_options: Any) -> MetaArray:
    check_bounds("linspace", start, end, dtype)
    return MetaArray((steps,), dtype)


def logspace(
    start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: Any = None, **_options: Any
) -> MetaArray:
    check_bounds("logspace", start, end, dtype)
    return MetaArray((steps,), dtype)


def empty_permuted(
    size: Sequence[int], physical_layout: Sequence[int], *, dtype: Any = None, **_options: Any
) -> MetaArray:
    check_physical_layout(size, physical_layout)
    return MetaArray(size, dtype, strides_in_order(size, physical_layout))


def complex(real: MetaArray, imag: MetaArray) -> MetaArray:
    return broadcast_result([real, imag], whole_dtype(real.dtype, imag.dtype))


def eye(n: int, *, dtype: Any = None, **_options: Any) -> MetaArray:
    return MetaArray((n, n), dtype)


def scalar_tensor(s: Any, *, dtype: Any = None, **_options: Any) -> MetaArray:
    return MetaArray((), dtype)


def randperm(n: int, *, dtype: DType | None = None, **_options: Any) -> MetaArray:
    return MetaArray((n,), dtype or int64)


def bernoulli(self: MetaArray, *, generator: object = None) -> MetaArray:
    return like(self)


def multinomial(
    self: MetaArray, num_samples: int, replacement: bool = False, *, generator: object = None
) -> MetaArray:
    if self.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if not replacement and num_samples > self.shape[-1]:
        raise RuntimeError(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement"
        )
    return MetaArray((*self.shape[:-1], num_samples), int64)
