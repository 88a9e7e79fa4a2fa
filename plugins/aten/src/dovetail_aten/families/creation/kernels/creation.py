"""Factories. Layout, device and pinned memory are the business of what chose the backend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from dovetail_kernel import (
    MemoryFormat,
    complex128,
    contiguous_format,
    float32,
    float64,
    preserve_format,
    scalar_category,
    scalar_dtype,
)
from dovetail_kernel import bool as bool_
from dovetail_kernel.types import COMPLEX, FLOAT, UNINITIALIZED, filler
from dovetail_kernel.typing import NativeDtype

from ....kernel_support.checks.range_checks import check_range
from ....kernel_support.dims import check_size
from ....kernel_support.family import Family, operator
from ....kernel_support.geometry.broadcasting import elementwise_order
from ....kernel_support.geometry.memory_layout import check_physical_layout, inverse, required_order
from ....kernel_support.geometry.view_bounds import check_strides, extent
from ....kernel_support.operands import check_representable
from ....typing import Array, Scalar
from .range_lengths import check_bounds, range_length

Native: TypeAlias = NativeDtype | None
"""Dtype of the array library; None for the default."""

Format: TypeAlias = MemoryFormat | None
"""Memory format of a new array; None for that of the model."""


class Creation(Family):
    """New arrays: filled, like others, and ranges."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._linspace = self.capabilities.compiled("linspace", self.linspace)

    @operator("empty.memory_format")
    def empty(
        self, size: Sequence[int], *, dtype: Any = None, memory_format: Any = None, **options: Any
    ) -> Any:
        """Return a new uninitialised array."""
        dtype = dtype or self.default_float()
        shape = check_size(size, dtype.itemsize)
        if memory_format is None or memory_format is contiguous_format:
            return self._memory(shape, dtype)
        return self._in_format(self._memory, shape, dtype, memory_format)

    def _memory(self, shape: Any, dtype: Any) -> Any:
        """Return a new array that is uninitialised, or filled if the program asked for that."""
        if UNINITIALIZED.is_filled:
            return self._filled(tuple(shape), filler(self.dtypes[dtype]), dtype)
        return self.capabilities.empty(shape, dtype)

    def _in_format(
        self, make: Callable[..., Any], shape: Sequence[int], dtype: Any, memory_format: Any
    ) -> Any:
        """Return what `make` makes, in the order of dimensions that a memory format means."""
        return self._ordered(make, shape, dtype, required_order(memory_format, len(shape)))

    def _ordered(
        self, make: Callable[..., Any], shape: Sequence[int], dtype: Any, order: Sequence[int]
    ) -> Any:
        """Return what `make` makes, dimensions in `order` in memory."""
        return make([shape[dim] for dim in order], dtype=dtype).transpose(inverse(order))

    @operator("empty_strided")
    def empty_strided(
        self, size: Sequence[int], stride: Sequence[int], *, dtype: Any = None, **options: Any
    ) -> Any:
        """Return a new uninitialised array with these strides, in elements."""
        dtype = dtype or self.default_float()
        check_strides(size, stride, dtype.itemsize)
        memory = self._memory((extent(size, stride),), dtype)
        return self.capabilities.as_strided(memory, tuple(size), tuple(stride), 0)

    @operator("empty_permuted")
    def empty_permuted(
        self,
        size: Sequence[int],
        physical_layout: Sequence[int],
        *,
        dtype: Native = None,
        **options: Any,
    ) -> Any:
        """Return a new uninitialised array whose dimensions lie in memory in this order."""
        check_physical_layout(size, physical_layout)
        dtype = dtype or self.default_float()
        size = check_size(size, dtype.itemsize)
        made = self._memory(tuple([size[dim] for dim in physical_layout]), dtype)
        return made.transpose(inverse(physical_layout)) if size else made

    @operator("zeros")
    def zeros(self, size: Sequence[int], *, dtype: Native = None, **options: Any) -> Any:
        """Return a new array full of 0."""
        dtype = dtype or self.default_float()
        return self.xp.zeros(check_size(size, dtype.itemsize), dtype=dtype)

    @operator("ones")
    def ones(self, size: Sequence[int], *, dtype: Native = None, **options: Any) -> Any:
        """Return a new array full of 1."""
        dtype = dtype or self.default_float()
        return self.xp.ones(check_size(size, dtype.itemsize), dtype=dtype)

    def _filled(self, shape: tuple[int, ...], value: Any, dtype: NativeDtype) -> Any:
        """Return a new array full of a number that its dtype must be able to hold."""
        return self.capabilities.filled(shape, self.numbers.stored(value, dtype), dtype)

    @operator("full")
    def full(
        self, size: Sequence[int], fill_value: Any, *, dtype: Any = None, **options: Any
    ) -> Any:
        """Return a new array full of `fill_value`, by default in the dtype that the number has."""
        if dtype is None:
            dtype = self.native_dtypes[scalar_dtype(scalar_category(fill_value))]
        return self._filled(check_size(size, dtype.itemsize), fill_value, dtype)

    @operator("scalar_tensor")
    def scalar_tensor(self, s: Scalar, *, dtype: Native = None, **options: Any) -> Any:
        """Return the number `s` as a new 0-d array."""
        if dtype is None:
            dtype = (
                self.native_dtypes[scalar_dtype(COMPLEX)]
                if isinstance(s, complex)
                else self.default_float()
            )
        if dtype in self.precision.halves:  # what single precision can hold, they hold as infinity
            check_representable(s, float32)
            return self.capabilities.cast(self._filled((), s, self.precision.single), dtype)
        return self._filled((), s, dtype)

    @operator("full_like")
    def full_like(
        self,
        x: Array,
        fill_value: Scalar,
        *,
        dtype: Native = None,
        memory_format: Format = None,
        **options: Any,
    ) -> Any:
        """Return a new array like `x` full of `fill_value`."""
        if memory_format is None and self.capabilities.is_contiguous(x):
            return self._filled(x.shape, fill_value, dtype or x.dtype)

        def make(shape: Any, dtype: NativeDtype) -> Any:
            return self._filled(tuple(shape), fill_value, dtype)

        return self._like(make, x, dtype, memory_format)

    @operator("new_full")
    def new_full(
        self,
        x: Array,
        size: Sequence[int],
        fill_value: object,
        *,
        dtype: Any = None,
        **options: Any,
    ) -> Any:
        """Return a new array of `size`, in the dtype of `x`, full of `fill_value`."""
        return self.full(size, fill_value, dtype=dtype or x.dtype)

    @operator("empty_like")
    def empty_like(
        self, x: Array, *, dtype: Native = None, memory_format: Format = None, **options: Any
    ) -> Any:
        """Return a new uninitialised array like `x`, in its order of strides."""

        if UNINITIALIZED.is_filled:
            value = filler(self.dtypes[dtype or x.dtype])
            return self.full_like(x, value, dtype=dtype, memory_format=memory_format)
        return self._like(self._memory, x, dtype, memory_format)

    def _like(self, make: Callable[..., Any], x: Array, dtype: Any, form: Format) -> Any:
        """Return what `make` makes in the shape of `x`, in its order of strides or in a format."""
        dtype = dtype or x.dtype
        if not (form is None or form is preserve_format):
            return self._in_format(make, x.shape, dtype, form)
        if self.capabilities.is_contiguous(x):
            return make(x.shape, dtype=dtype)
        shape, order = elementwise_order([(x.shape, self.capabilities.strides(x))])
        return self._ordered(make, shape, dtype, order)

    @operator("zeros_like")
    def zeros_like(
        self, x: Array, *, dtype: Native = None, memory_format: Format = None, **options: Any
    ) -> Any:
        """Return a new array like `x` full of 0."""
        return self._like(self.xp.zeros, x, dtype, memory_format)

    @operator("ones_like")
    def ones_like(
        self, x: Array, *, dtype: Native = None, memory_format: Format = None, **options: Any
    ) -> Any:
        """Return a new array like `x` full of 1."""
        return self._like(self.xp.ones, x, dtype, memory_format)

    @operator("new_zeros")
    def new_zeros(
        self, x: Array, size: Sequence[int], *, dtype: Native = None, **options: Any
    ) -> Any:
        """Return a new array of `size`, in the dtype of `x`, full of 0."""
        return self.zeros(size, dtype=dtype or x.dtype)

    @operator("new_ones")
    def new_ones(
        self, x: Array, size: Sequence[int], *, dtype: Native = None, **options: Any
    ) -> Any:
        """Return a new array of `size`, in the dtype of `x`, full of 1."""
        return self.ones(size, dtype=dtype or x.dtype)

    @operator("new_empty")
    def new_empty(
        self, x: Array, size: Sequence[int], *, dtype: Native = None, **options: Any
    ) -> Any:
        """Return a new uninitialised array of `size`, in the dtype of `x`."""
        return self.empty(size, dtype=dtype or x.dtype)

    def _progression(self, start: Any, step: Any, length: int, dtype: NativeDtype) -> Any:
        """Return start + i * step, computed in double or int64 precision."""
        xp = self.xp
        wide = xp.float64 if self.dtypes[dtype].category >= FLOAT else xp.int64
        if wide is xp.int64:
            start, step = int(start), int(step)
        places = xp.arange(length, dtype=wide)
        if step != 1:
            places = places * self.numbers.like(places, step)
        if start != 0:
            places = places + self.numbers.like(places, start)
        return places.astype(dtype, copy=False)

    def _range(self, start: Any, end: Any, step: Any, dtype: Native) -> Any:
        """Return the numbers from `start` on in steps, before `end`."""
        if dtype is not None and (
            self.dtypes[dtype].category == COMPLEX or self.dtypes[dtype] is bool_
        ):
            raise NotImplementedError(
                f"\"arange\" not implemented for '{self.dtypes[dtype].scalar_name}'. Ask for a "
                "real number dtype."
            )
        ints = start.__class__ is int and end.__class__ is int and step.__class__ is int
        if not (ints and step > 0 and start <= end):
            check_range(start, end, step)
        if dtype is None:
            dtype = self.native_dtypes[
                scalar_dtype(max(1, *map(scalar_category, (start, end, step))))
            ]
        return self._progression(
            start, step, range_length(start, end, step, self.dtypes[dtype]), dtype
        )

    @operator("arange", "arange.start", "arange.start_step")
    def arange(self, *bounds: Scalar, dtype: Native = None, **options: Any) -> Any:
        """Return the numbers ``start``, ``start + step``, … before ``end``. `bounds` are the end,
        start and end, or all three; the others are 0 and 1.
        """
        start, end, step = (*bounds, 1)[:3] if len(bounds) > 1 else (0, *bounds, 1)
        return self._range(start, end, step, dtype)

    def _dtype_of_steps(self, name: str, start: Any, end: Any, steps: int, dtype: Any) -> Any:
        """Return the dtype of evenly spaced numbers: `dtype`, or what the ends need."""
        if steps < 0:
            raise RuntimeError(f"number of steps must be non-negative, but got {steps}")
        if dtype is None:
            category = max(2, scalar_category(start), scalar_category(end))
            return self.native_dtypes[scalar_dtype(category)]
        if self.dtypes[dtype] is bool_:
            raise NotImplementedError(
                f"\"{name}_cpu\" not implemented for 'Bool'. Ask for a number dtype."
            )
        return dtype

    @operator("linspace")
    def linspace(
        self, start: Any, end: Any, steps: int, *, dtype: Native = None, **options: Any
    ) -> Any:
        """Return `steps` numbers at equal distances from `start` to `end`, both exact."""
        xp = self.xp
        dtype = self._dtype_of_steps("linspace", start, end, steps, dtype)
        check_bounds("linspace", start, end, self.dtypes[dtype])
        check_size((steps,), max(dtype.itemsize, 8))  # computed in double precision
        wide = xp.complex128 if self.dtypes[dtype].category == COMPLEX else xp.float64
        if steps < 2:
            return xp.full((steps,), start, dtype=wide).astype(dtype)
        # From the nearer end, so that both ends are exact.
        near = steps - steps // 2
        with self.capabilities.quiet():  # the route of a factory is not
            away = xp.multiply(xp.arange(near, dtype=xp.float64), (end - start) / (steps - 1))
            halves = start + away, (end - away[: steps - near])[::-1]
            return xp.concatenate(halves).astype(dtype)

    @operator("logspace")
    def logspace(
        self,
        start: Scalar,
        end: Scalar,
        steps: int,
        base: float = 10.0,
        *,
        dtype: Native = None,
        **options: Any,
    ) -> Any:
        """Return `base` to the power of numbers at equal distances from `start` to `end`."""
        xp = self.xp
        dtype = self._dtype_of_steps("logspace", start, end, steps, dtype)
        wide = self.native_dtypes[complex128 if self.dtypes[dtype].category == COMPLEX else float64]
        exponents = self._linspace(start, end, steps, dtype=wide)
        with self.capabilities.quiet():
            return xp.power(xp.full_like(exponents, base), exponents).astype(dtype)

    @operator("eye")
    def eye(self, n: int, *, dtype: Native = None, **options: Any) -> Any:
        """Return a new matrix of `n` rows with 1 on its diagonal, else 0."""
        if n < 0:
            raise RuntimeError(f"n must be greater or equal to 0, got {n}")
        dtype = dtype or self.default_float()
        check_size((n, n), dtype.itemsize)
        return self.xp.eye(n, dtype=dtype)
