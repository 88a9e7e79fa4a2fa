"""Factories and random numbers: the size is given, or that of the argument."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_kernel import bool as bool_
from dovetail_kernel import contiguous_format, int64, preserve_format

from ..array_kernels.memory_layout import order_of, strides_in_order
from ..array_kernels.ranges import check_bounds, range_length
from .meta_array import MetaArray
from .rules import Rules
from .table import dense_like, like

rule = Rules()


@rule("empty.memory_format")
def _empty(
    size: Sequence[int], *, dtype: Any = None, memory_format: Any = None, **_options: Any
) -> MetaArray:
    order = order_of(memory_format, len(size))
    if order is None:
        raise RuntimeError(
            f"required rank {'4' if 'channels' in memory_format.name else '5'} tensor to use "
            f"{memory_format}"
        )
    return MetaArray(size, dtype, strides_in_order(size, order))


@rule("zeros", "ones", "rand", "randn")
def _zeros(size: Sequence[int], *, dtype: Any = None, **_options: Any) -> MetaArray:
    return MetaArray(size, dtype)


@rule("full")
def _full(size: Sequence[int], fill_value: Any, *, dtype: Any = None, **_options: Any) -> MetaArray:
    return MetaArray(size, dtype)


@rule("empty_strided")
def _empty_strided(
    size: Sequence[int], stride: Sequence[int], *, dtype: Any = None, **_options: Any
) -> MetaArray:
    return MetaArray(size, dtype, stride)


@rule("arange")
def _arange(end: Any, *, dtype: Any = None, **_options: Any) -> MetaArray:
    return MetaArray((range_length(0, end, 1, dtype),), dtype)


@rule("arange.start")
def _arange_start(start: Any, end: Any, *, dtype: Any = None, **_options: Any) -> MetaArray:
    return MetaArray((range_length(start, end, 1, dtype),), dtype)


@rule("arange.start_step")
def _arange_step(
    start: Any, end: Any, step: Any = 1, *, dtype: Any = None, **_options: Any
) -> MetaArray:
    return MetaArray((range_length(start, end, step, dtype),), dtype)


@rule("linspace")
def _linspace(start: Any, end: Any, steps: int, *, dtype: Any = None, **_options: Any) -> MetaArray:
    check_bounds("linspace", start, end, dtype)
    return MetaArray((steps,), dtype)


@rule("eye")
def _eye(n: int, *, dtype: Any = None, **_options: Any) -> MetaArray:
    return MetaArray((n, n), dtype)


@rule("scalar_tensor")
def _scalar_tensor(s: Any, *, dtype: Any = None, **_options: Any) -> MetaArray:
    return MetaArray((), dtype)


@rule("empty_like", "zeros_like", "ones_like", "rand_like", "randn_like")
def _empty_like(
    self: MetaArray, *, dtype: Any = None, memory_format: Any = None, **_options: Any
) -> MetaArray:
    if memory_format in (None, preserve_format):
        return dense_like(self, dtype)
    order = order_of(memory_format, self.ndim)
    assert order is not None or memory_format is contiguous_format
    return MetaArray(
        self.shape, dtype or self.dtype, strides_in_order(self.shape, order or range(self.ndim))
    )


@rule("full_like")
def _full_like(self: MetaArray, fill_value: Any, **options: Any) -> MetaArray:
    result: MetaArray = _empty_like(self, **options)
    return result


@rule("new_empty", "new_zeros", "new_ones")
def _new_empty(
    self: MetaArray, size: Sequence[int], *, dtype: Any = None, **_options: Any
) -> MetaArray:
    return MetaArray(size, dtype or self.dtype)


@rule("new_full")
def _new_full(
    self: MetaArray, size: Sequence[int], fill_value: Any, *, dtype: Any = None, **_options: Any
) -> MetaArray:
    return MetaArray(size, dtype or self.dtype)


@rule("randint")
def _randint(high: int, size: Sequence[int], *, dtype: Any = None, **_options: Any) -> MetaArray:
    return MetaArray(size, dtype or int64)


@rule("randint.low")
def _randint_low(
    low: int, high: int, size: Sequence[int], *, dtype: Any = None, **_options: Any
) -> MetaArray:
    return MetaArray(size, dtype or int64)


@rule("randperm")
def _randperm(n: int, *, dtype: Any = None, **_options: Any) -> MetaArray:
    return MetaArray((n,), dtype or int64)


@rule("uniform_", "normal_", "bernoulli_.float", "zero_", "fill_.Scalar", "fill_.Tensor")
def _same(self: MetaArray, *_args: Any, **_options: Any) -> MetaArray:
    return self


@rule("bernoulli")
def _bernoulli(self: MetaArray, *, generator: Any = None) -> MetaArray:
    return like(self)


@rule("native_dropout")
def _native_dropout(input: MetaArray, p: float, train: bool | None) -> tuple[MetaArray, MetaArray]:
    return dense_like(input), dense_like(input, bool_)


@rule("multinomial")
def _multinomial(
    self: MetaArray, num_samples: int, replacement: bool = False, *, generator: Any = None
) -> MetaArray:
    if self.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if not replacement and num_samples > self.shape[-1]:
        raise RuntimeError(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement"
        )
    return MetaArray((*self.shape[:-1], num_samples), int64)
