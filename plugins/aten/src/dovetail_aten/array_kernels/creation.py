"""Factories. Layout, device and pinned memory have been dealt with by whoever chose the backend."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail_kernel import bool as bool_
from dovetail_kernel import (
    channels_last,
    get_default_dtype,
    preserve_format,
    scalar_category,
    scalar_dtype,
)
from dovetail_kernel.types.dtype import COMPLEX, FLOAT

from .capabilities import Capabilities
from .operands import Numbers, check_representable
from .ranges import check_bounds, range_length
from .table import KernelTable


def define(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    """Define the kernels of this family."""
    _define_filled(xp, kernel, capabilities)
    _define_like(xp, kernel, capabilities)
    _define_ranges(xp, kernel, capabilities)


def check_size(size: Sequence[int]) -> tuple[int, ...]:
    """Return `size` as a tuple.

    Raises
    ------
    RuntimeError
        If a dimension is negative.
    """
    for length in size:
        if length < 0:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {length}: {list(size)}"
            )
    return tuple(size)


def default_float(capabilities: Capabilities) -> Any:
    """Return the native dtype of new floating-point arrays."""
    return capabilities.native_dtypes[get_default_dtype()]


def _define_filled(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    dtypes, native_dtypes = capabilities.dtypes, capabilities.native_dtypes

    @kernel.named("empty.memory_format")
    def empty(
        size: Sequence[int], *, dtype: Any = None, memory_format: Any = None, **options: Any
    ) -> Any:
        shape, dtype = check_size(size), dtype or default_float(capabilities)
        if memory_format is channels_last and len(shape) == 4:
            n, c, h, w = shape
            return capabilities.empty((n, h, w, c), dtype).transpose(0, 3, 1, 2)
        return capabilities.empty(shape, dtype)

    @kernel.named("empty_strided")
    def empty_strided(
        size: Sequence[int], stride: Sequence[int], *, dtype: Any = None, **options: Any
    ) -> Any:
        shape, dtype = check_size(size), dtype or default_float(capabilities)
        reach = (
            0
            if 0 in shape
            else 1 + sum([(n - 1) * step for n, step in zip(shape, stride, strict=True)])
        )
        strided = capabilities.as_strided(
            capabilities.empty((reach,), dtype), shape, tuple(stride), 0
        )
        return capabilities.empty(shape, dtype) if strided is None else strided

    @kernel.named("zeros")
    def zeros(size: Sequence[int], *, dtype: Any = None, **options: Any) -> Any:
        return xp.zeros(check_size(size), dtype or default_float(capabilities))

    @kernel.named("ones")
    def ones(size: Sequence[int], *, dtype: Any = None, **options: Any) -> Any:
        return xp.ones(check_size(size), dtype or default_float(capabilities))

    def filled(shape: tuple[int, ...], value: Any, dtype: Any) -> Any:
        check_representable(value, dtypes[dtype])
        return xp.full(shape, capabilities.number(value, dtype), dtype)

    @kernel.named("full")
    def full(size: Sequence[int], fill_value: Any, *, dtype: Any = None, **options: Any) -> Any:
        if dtype is None:
            dtype = native_dtypes[scalar_dtype(scalar_category(fill_value))]
        return filled(check_size(size), fill_value, dtype)

    @kernel.named("scalar_tensor")
    def scalar_tensor(s: Any, *, dtype: Any = None, **options: Any) -> Any:
        if dtype is None:
            dtype = (
                native_dtypes[scalar_dtype(COMPLEX)]
                if isinstance(s, complex)
                else default_float(capabilities)
            )
        return filled((), s, dtype)

    @kernel.named("full_like")
    def full_like(self: Any, fill_value: Any, *, dtype: Any = None, **options: Any) -> Any:
        return filled(self.shape, fill_value, dtype or self.dtype)

    @kernel.named("new_full")
    def new_full(
        self: Any, size: Sequence[int], fill_value: Any, *, dtype: Any = None, **options: Any
    ) -> Any:
        return filled(check_size(size), fill_value, dtype or self.dtype)


def _order_like(array: Any) -> str:
    """Return the order for an array like a given one: expanded dimensions would come to lie
    innermost.
    """
    return "C" if 0 in getattr(array, "strides", ()) else "K"


def _define_like(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    is_contiguous = capabilities.is_contiguous

    @kernel.named("empty_like")
    def empty_like(
        self: Any, *, dtype: Any = None, memory_format: Any = None, **options: Any
    ) -> Any:
        if memory_format is channels_last and self.ndim == 4:
            n, c, h, w = self.shape
            return capabilities.empty((n, h, w, c), dtype or self.dtype).transpose(0, 3, 1, 2)
        if not (memory_format is None or memory_format is preserve_format) or is_contiguous(self):
            return capabilities.empty(self.shape, dtype or self.dtype)
        return xp.empty_like(self, dtype=dtype, order=_order_like(self))

    @kernel.named("zeros_like")
    def zeros_like(
        self: Any, *, dtype: Any = None, memory_format: Any = None, **options: Any
    ) -> Any:
        if is_contiguous(self):
            return xp.zeros(self.shape, dtype or self.dtype)
        return xp.zeros_like(self, dtype=dtype, order=_order_like(self))

    @kernel.named("ones_like")
    def ones_like(
        self: Any, *, dtype: Any = None, memory_format: Any = None, **options: Any
    ) -> Any:
        if is_contiguous(self):
            return xp.ones(self.shape, dtype or self.dtype)
        return xp.ones_like(self, dtype=dtype, order=_order_like(self))

    @kernel.named("new_zeros")
    def new_zeros(self: Any, size: Sequence[int], *, dtype: Any = None, **options: Any) -> Any:
        return xp.zeros(check_size(size), dtype or self.dtype)

    @kernel.named("new_ones")
    def new_ones(self: Any, size: Sequence[int], *, dtype: Any = None, **options: Any) -> Any:
        return xp.ones(check_size(size), dtype or self.dtype)

    @kernel.named("new_empty")
    def new_empty(self: Any, size: Sequence[int], *, dtype: Any = None, **options: Any) -> Any:
        return capabilities.empty(check_size(size), dtype or self.dtype)


def _define_ranges(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    dtypes, native_dtypes = capabilities.dtypes, capabilities.native_dtypes
    numbers = Numbers(capabilities)

    def progression(start: Any, step: Any, length: int, dtype: Any) -> Any:
        """Return start + i * step, computed in double or int64 precision."""
        wide = xp.float64 if dtypes[dtype].category >= FLOAT else xp.int64
        if wide is xp.int64:
            start, step = int(start), int(step)
        places = xp.arange(length, dtype=wide)
        if step != 1:
            places = places * numbers.like(places, step)
        if start != 0:
            places = places + numbers.like(places, start)
        return places.astype(dtype, copy=False)

    def arange(start: Any, end: Any, step: Any, dtype: Any) -> Any:
        for number in (start, end, step):
            if isinstance(number, complex):
                raise RuntimeError(
                    f"value cannot be converted to type double without overflow: {number!r}. Give "
                    "a real number."
                )
        if dtype is not None and (dtypes[dtype].category == COMPLEX or dtypes[dtype] is bool_):
            raise NotImplementedError(
                f"\"arange\" not implemented for '{dtypes[dtype].scalar_name}'. Ask for a real "
                "number dtype."
            )
        if not abs(step) > 0:
            raise RuntimeError("step must be nonzero")
        if not (math.isfinite(start) and math.isfinite(end)):
            raise RuntimeError(f"unsupported range: {start} -> {end}")
        if (end - start) * (1 if step > 0 else -1) < 0:
            raise RuntimeError("upper bound and lower bound inconsistent with step sign")
        if dtype is None:
            dtype = native_dtypes[scalar_dtype(max(1, *map(scalar_category, (start, end, step))))]
        return progression(start, step, range_length(start, end, step, dtypes[dtype]), dtype)

    @kernel.named("arange")
    def arange_end(end: Any, *, dtype: Any = None, **options: Any) -> Any:
        return arange(0, end, 1, dtype)

    @kernel.named("arange.start")
    def arange_start(start: Any, end: Any, *, dtype: Any = None, **options: Any) -> Any:
        return arange(start, end, 1, dtype)

    @kernel.named("arange.start_step")
    def arange_step(
        start: Any, end: Any, step: Any = 1, *, dtype: Any = None, **options: Any
    ) -> Any:
        return arange(start, end, step, dtype)

    @kernel.named("linspace")
    def linspace(start: Any, end: Any, steps: int, *, dtype: Any = None, **options: Any) -> Any:
        if steps < 0:
            raise RuntimeError(f"number of steps must be non-negative, but is {steps}")
        if dtype is None:
            dtype = native_dtypes[
                scalar_dtype(max(2, scalar_category(start), scalar_category(end)))
            ]
        check_bounds("linspace", start, end, dtypes[dtype])
        wide = xp.complex128 if dtypes[dtype].category == COMPLEX else xp.float64
        if steps < 2:
            return xp.full((steps,), start, wide).astype(dtype)
        step = (end - start) / (steps - 1)
        places = xp.arange(steps, dtype=xp.float64)
        # From the nearer end, so that both ends are exact.
        return xp.where(
            places * 2 < steps, start + places * step, end - (steps - 1 - places) * step
        ).astype(dtype)

    @kernel.named("eye")
    def eye(n: int, *, dtype: Any = None, **options: Any) -> Any:
        if n < 0:
            raise RuntimeError(f"n must be greater or equal to 0, got {n}")
        return xp.eye(n, dtype=dtype or default_float(capabilities))
