"""What the array kernels need besides the `cupy` namespace: views, scattered writes, erf, random numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, Final

import cupy
import cupyx
import cupyx.scipy.special
import numpy as np

from dovetail_aten.generator import Generator, default_generator
from dovetail_kernel import backend, dtype

from .arrays import host_number
from .dtypes import DTYPES_OF_NATIVE, NATIVE_DTYPES

_ALL: Final = slice(None)
_HALF: Final = np.dtype(np.float16)
_SINGLE: Final = np.dtype(np.float32)
_HALF_STEPS: Final = 1 << 11
"""How many numbers of [0, 1) lie equally spaced in float16."""
_ADDED_AS: Final = {
    np.dtype(own): np.dtype(other)
    for other, narrower in (("uint32", ("bool", "uint8", "uint16")), ("int32", ("int8", "int16")))
    for own in narrower
}
"""What to add in where CUDA has no atomic addition; narrowing afterwards wraps."""


class CudaCapabilities:
    """The `dovetail_aten.capabilities.Capabilities` of CuPy."""

    @property
    def dtypes(self) -> Mapping[Any, dtype]:
        """Native dtype of an array to dtype."""
        return DTYPES_OF_NATIVE

    @property
    def native_dtypes(self) -> Mapping[dtype, Any]:
        """The way back."""
        return NATIVE_DTYPES

    # -- making arrays -------------------------------------------------------------------------------------------

    def number(self, value: complex, native_dtype: Any) -> Any:
        """Return `value` as a NumPy scalar, which CuPy passes to the device as an argument, without a copy."""
        return host_number(value, native_dtype)[()]

    def empty(self, shape: Sequence[int], native_dtype: Any) -> Any:
        """Return a new uninitialised array."""
        return cupy.empty(tuple(shape), native_dtype)

    def clone(self, array: Any) -> Any:
        """Return a new array with the same elements, in the same order of strides."""
        return cupy.array(array, order="K", copy=True)

    def contiguous(self, array: Any) -> Any:
        """Return `array`, or a copy of it in C order."""
        return array if array.flags.c_contiguous else array.copy()

    def embed(self, value: Any, shape: Sequence[int], key: tuple[slice, ...], fill: Any) -> Any:
        """Return a new array full of `fill`, with `value` at ``[key]``."""
        array = cupy.full(tuple(shape), fill, value.dtype)
        array[key] = value
        return array

    # -- views ---------------------------------------------------------------------------------------------------

    def view(self, array: Any, shape: Sequence[int]) -> Any | None:
        """Return a view with another shape of as many elements; None if the strides do not allow it."""
        try:
            return array.reshape(tuple(shape), copy=False)
        except ValueError:
            return None

    def expand(self, array: Any, shape: Sequence[int]) -> Any:
        """Return a view broadcast to `shape`."""
        return cupy.broadcast_to(array, tuple(shape))

    def diagonal(self, array: Any, offset: int, dim1: int, dim2: int) -> Any:
        """Return a view of a diagonal."""
        return cupy.diagonal(array, offset, dim1, dim2)

    def as_strided(
        self, array: Any, size: Sequence[int], stride: Sequence[int], storage_offset: int | None
    ) -> Any | None:
        """Return a view of the memory that `array` lies in; None if it would reach beyond."""
        # CuPy notes no base for an array made at an address, but every array knows the allocation that it lies in.
        memory, itemsize = array.data.mem, array.itemsize
        first = array.data.ptr if storage_offset is None else memory.ptr + storage_offset * itemsize
        reach = sum([(length - 1) * step for length, step in zip(size, stride, strict=True)])
        if 0 not in size and first + (reach + 1) * itemsize > memory.ptr + memory.size:
            return None
        strides = tuple([step * itemsize for step in stride])
        return cupy.ndarray(tuple(size), array.dtype, array.data + (first - array.data.ptr), strides)

    def reinterpret(self, array: Any, native_dtype: Any) -> Any:
        """Return a view with another dtype.

        Raises
        ------
        ValueError
            If the last dimension is not contiguous or not divisible.
        """
        return array.view(native_dtype)

    # -- indexing ------------------------------------------------------------------------------------------------

    def index_put(self, array: Any, key: tuple[Any, ...], values: Any, accumulate: bool) -> Any:
        """Return a copy with `values` at ``[key]``, or added there, also at repeated places."""
        if accumulate:
            return self._added(array, _without_masks(key), values)
        made = self.clone(array)
        made[key] = values
        return made

    def index_add(self, array: Any, dim: int, index: Any, source: Any) -> Any:
        """Return a copy with the slices of `source` added at `index` along `dim`."""
        return self._added(array, ((_ALL,) * dim + (index,)), source)

    def scatter(self, array: Any, dim: int, index: Any, source: Any, accumulate: bool) -> Any:
        """Return a copy with the elements of `source` at `index` along `dim`, or added there."""
        key: list[Any] = list(cupy.ix_(*[cupy.arange(length) for length in index.shape]))
        key[dim] = index
        if accumulate:
            return self._added(array, tuple(key), source)
        made = self.clone(array)
        made[tuple(key)] = source
        return made

    def _added(self, array: Any, key: tuple[Any, ...], values: Any) -> Any:
        """Return a copy with `values` added at ``[key]``, in a dtype that CUDA adds atomically."""
        own = array.dtype
        other = _ADDED_AS.get(own)
        if other is not None:
            made = array.astype(other)
            cupyx.scatter_add(made, key, values.astype(other))
            return made.astype(own)
        made = self.clone(array)
        if own == np.int64:
            # In two's complement it makes no difference.
            cupyx.scatter_add(made.view(np.uint64), key, values.astype(np.int64, copy=False).view(np.uint64))
        else:
            cupyx.scatter_add(made, key, values)
        return made

    # -- functions that CuPy keeps elsewhere ---------------------------------------------------------------------

    def erf(self, array: Any) -> Any:
        """Return the error function, in the dtype of `array`."""
        return cupyx.scipy.special.erf(array).astype(array.dtype, copy=False)

    def erfc(self, array: Any) -> Any:
        """Return the complementary error function, in the dtype of `array`."""
        return cupyx.scipy.special.erfc(array).astype(array.dtype, copy=False)

    def finfo(self, native_dtype: Any) -> tuple[float, float]:
        """Return the least and greatest finite number of a floating-point dtype."""
        info = np.finfo(native_dtype)
        return float(info.min), float(info.max)

    # -- random numbers ------------------------------------------------------------------------------------------

    def uniform(self, shape: Sequence[int], native_dtype: Any, generator: Any) -> Any:
        """Return numbers in [0, 1); for half precision, float32 numbers that it can represent."""
        drawn = _drawn(_source(generator).random, shape, _SINGLE if native_dtype == _HALF else native_dtype)
        return cupy.floor(drawn * _HALF_STEPS) / _HALF_STEPS if native_dtype == _HALF else drawn

    def normal(self, shape: Sequence[int], native_dtype: Any, generator: Any) -> Any:
        """Return standard normal numbers, in float32 for half precision."""
        return _drawn(_source(generator).standard_normal, shape, _SINGLE if native_dtype == _HALF else native_dtype)

    def integers(self, low: int, high: int, shape: Sequence[int], generator: Any) -> Any:
        """Return int64 numbers in [low, high)."""
        source = _source(generator)
        return _drawn(lambda count, dtype: source.integers(low, high, count, dtype), shape, np.int64)

    def permutation(self, n: int, generator: Any) -> Any:
        """Return the int64 numbers below `n` in random order."""
        return cupy.argsort(self.uniform((n,), np.dtype(np.float64), generator))


def _drawn(draw: Any, shape: Sequence[int], native_dtype: Any) -> Any:
    """Return numbers in `shape`; CuPy's generators are asked for at least one, in one dimension."""
    count = prod(shape)
    return draw(max(count, 1), native_dtype)[:count].reshape(tuple(shape))


def _source(generator: Generator | None) -> Any:
    return (default_generator(backend("cuda")) if generator is None else generator).native


def _without_masks(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return `key` with every mask replaced by the places where it is true, which is what CuPy can add at."""
    places: list[Any] = []
    for each in key:
        places.extend(each.nonzero() if getattr(each, "dtype", None) == np.bool_ else (each,))
    return tuple(places)
