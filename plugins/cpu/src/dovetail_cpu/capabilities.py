"""What the array kernels need besides the `numpy` namespace: views, scattered writes, erf, random numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, Final

import ml_dtypes
import numpy as np

from dovetail_aten.generator import Generator, default_generator
from dovetail_kernel import backend, bfloat16, dtype

from . import erf as error_functions
from .arrays import CpuArrays
from .dtypes import DTYPES_OF_NATIVE, NATIVE_DTYPES
from .sums_of_rows import add_rows

Array = np.ndarray[Any, Any]

_ALL: Final = slice(None)
_SINGLE: Final = np.dtype(np.float32)
_BFLOAT16: Final = NATIVE_DTYPES[bfloat16]
_HALF_STEPS: Final = {np.dtype(np.float16): np.float32(1 << 11), _BFLOAT16: np.float32(1 << 8)}
"""How many numbers of [0, 1) lie equally spaced in a half-precision dtype."""
_SORTED_FROM: Final = 64
"""From so many indices on, sorting them and adding runs is faster than adding one by one."""


class _Memory:
    """A place in memory that NumPy can read; keeps the array alive that owns it."""

    def __init__(self, base: Array, interface: dict[str, Any]) -> None:
        self.base = base
        self.__array_interface__ = interface


class CpuCapabilities:
    """The `dovetail_aten.capabilities.Capabilities` of NumPy."""

    def __init__(self, arrays: CpuArrays) -> None:
        self._arrays = arrays

    @property
    def dtypes(self) -> Mapping[Any, dtype]:
        """Native dtype of an array to dtype."""
        return DTYPES_OF_NATIVE

    @property
    def native_dtypes(self) -> Mapping[dtype, Any]:
        """The way back."""
        return NATIVE_DTYPES

    # -- making arrays -------------------------------------------------------------------------------------------

    def number(self, value: complex, native_dtype: Any) -> Array:
        """Return `value` as a read-only 0-d array, which ufuncs take faster than a Python number."""
        array = self._arrays.scalar(value, native_dtype)
        array.flags.writeable = False
        return array

    def empty(self, shape: Sequence[int], native_dtype: Any) -> Array:
        """Return a new uninitialised array."""
        return np.empty(tuple(shape), native_dtype)

    def clone(self, array: Any) -> Array:
        """Return a new array with the same elements, in the same order of strides; of an expanded one, in C order."""
        return np.array(array, order="C" if array.base is not None and 0 in array.strides else "K")

    def contiguous(self, array: Any) -> Array:
        """Return `array`, or a copy of it in C order."""
        made: Array = array if array.flags.c_contiguous else array.copy()
        return made

    def embed(self, value: Any, shape: Sequence[int], key: tuple[slice, ...], fill: Any) -> Array:
        """Return a new array full of `fill`, with `value` at ``[key]``."""
        array = np.full(tuple(shape), fill, value.dtype) if fill else np.zeros(tuple(shape), value.dtype)
        array[key] = value
        return array

    # -- views ---------------------------------------------------------------------------------------------------

    def view(self, array: Array, shape: Sequence[int]) -> Array | None:
        """Return a view with another shape of as many elements; None if the strides do not allow it."""
        try:
            return array.reshape(tuple(shape), copy=False)
        except ValueError:
            return None

    def expand(self, array: Array, shape: Sequence[int]) -> Array:
        """Return a view broadcast to `shape`, read-only if elements share memory."""
        if prod(shape) == array.size:
            return array[(None,) * (len(shape) - array.ndim) + (...,)] if array.size else np.empty(shape, array.dtype)
        return np.broadcast_to(array, tuple(shape))

    def diagonal(self, array: Array, offset: int, dim1: int, dim2: int) -> Array:
        """Return a view of a diagonal, as writable as `array` is."""
        view: Array = array.diagonal(offset, dim1, dim2)
        if array.flags.writeable:
            view.flags.writeable = True
        return view

    def as_strided(
        self, array: Array, size: Sequence[int], stride: Sequence[int], storage_offset: int | None
    ) -> Array | None:
        """Return a view of the memory that `array` lies in; None if it would reach beyond."""
        root, itemsize = self._arrays.storage_of(array), array.itemsize
        start, stop = np.lib.array_utils.byte_bounds(root)
        first = self._arrays.data_ptr(array) if storage_offset is None else start + storage_offset * itemsize
        reach = sum([(length - 1) * step for length, step in zip(size, stride, strict=True)])
        if 0 not in size and first + (reach + 1) * itemsize > stop:
            return None
        interface = {
            "data": (first, not array.flags.writeable),
            "shape": tuple(size),
            "strides": tuple([step * itemsize for step in stride]),
            "typestr": f"|V{itemsize}",
            "version": 3,
        }
        return np.asarray(_Memory(root, interface)).view(array.dtype)

    def reinterpret(self, array: Array, native_dtype: Any) -> Array:
        """Return a view with another dtype.

        Raises
        ------
        ValueError
            If the last dimension is not contiguous or not divisible.
        """
        return array.view(native_dtype)

    # -- indexing ------------------------------------------------------------------------------------------------

    def index_put(self, array: Any, key: tuple[Any, ...], values: Any, accumulate: bool) -> Array:
        """Return a copy with `values` at ``[key]``, or added there, also at repeated places."""
        made = self.clone(array)
        if not accumulate:
            made[key] = values
        elif not _add_at_leading(made, key, values):
            np.add.at(made, key, values)
        return made

    def index_add(self, array: Any, dim: int, index: Any, source: Any) -> Array:
        """Return a copy with the slices of `source` added at `index` along `dim`."""
        made = self.clone(array)
        before = (_ALL,) * dim
        if index.size < _SORTED_FROM or source.ndim == 1:
            np.add.at(made, (*before, index), source)
            return made
        order = index.argsort(kind="stable")
        places = index[order]
        starts = np.flatnonzero(np.concatenate(([True], places[1:] != places[:-1])))
        made[(*before, places[starts])] += np.add.reduceat(source[(*before, order)], starts, dim)
        return made

    def scatter(self, array: Any, dim: int, index: Any, source: Any, accumulate: bool) -> Array:
        """Return a copy with the elements of `source` at `index` along `dim`, or added there."""
        made = self.clone(array)
        if accumulate and made.flags.c_contiguous:
            places = _places(made, dim, index)
            np.add.at(made.reshape(-1), places.reshape(-1), np.broadcast_to(source, places.shape).reshape(-1))
            return made
        key: list[Any] = list(np.ix_(*[range(length) for length in index.shape]))
        key[dim] = index
        if accumulate:
            np.add.at(made, tuple(key), source)
        else:
            made[tuple(key)] = source
        return made

    # -- functions that NumPy lacks ------------------------------------------------------------------------------

    def erf(self, array: Any) -> Any:
        """Return the error function, in the dtype of `array`."""
        return error_functions.erf(array)

    def erfc(self, array: Any) -> Any:
        """Return the complementary error function."""
        return error_functions.erfc(array)

    def finfo(self, native_dtype: Any) -> tuple[float, float]:
        """Return the least and greatest finite number of a floating-point dtype."""
        info: Any = ml_dtypes.finfo(native_dtype)  # type: ignore[no-untyped-call]
        return float(info.min), float(info.max)

    # -- random numbers ------------------------------------------------------------------------------------------

    def uniform(self, shape: Sequence[int], native_dtype: Any, generator: Any) -> Any:
        """Return numbers in [0, 1); for half precision, float32 numbers that it can represent."""
        steps = _HALF_STEPS.get(native_dtype)
        source = _source(generator)
        if steps is None:
            return source.random(tuple(shape), native_dtype)
        return np.floor(source.random(tuple(shape), _SINGLE) * steps) / steps

    def normal(self, shape: Sequence[int], native_dtype: Any, generator: Any) -> Any:
        """Return standard normal numbers, in float32 for half precision."""
        drawn = _SINGLE if native_dtype in _HALF_STEPS else native_dtype
        return _source(generator).standard_normal(tuple(shape), drawn)

    def integers(self, low: int, high: int, shape: Sequence[int], generator: Any) -> Any:
        """Return int64 numbers in [low, high)."""
        return _source(generator).integers(low, high, tuple(shape), np.int64)

    def permutation(self, n: int, generator: Any) -> Any:
        """Return the int64 numbers below `n` in random order."""
        return _source(generator).permutation(n)


def _places(array: Array, dim: int, index: Array) -> Array:
    """Return where in a C-contiguous array, counted in elements, the elements at `index` along `dim` lie.

    One index per element is what `np.add.at` is fast for.
    """
    steps = [stride // array.itemsize for stride in array.strides]
    places: Array = index * np.int64(steps[dim])
    for each, (length, step) in enumerate(zip(index.shape, steps, strict=True)):
        if each != dim:
            shape = [1] * index.ndim
            shape[each] = length
            places += np.arange(0, length * step, step, dtype=np.int64).reshape(shape) if step else 0
    return places


def _add_at_leading(array: Array, key: tuple[Any, ...], values: Any) -> bool:
    """Add `values` to `array` at ``[key]`` if that names places along the leading dimensions; return whether it does.

    Elements are added by one index each, and rows by runs of equal indices.
    """
    leading = len(key)
    arrays = [each for each in key if isinstance(each, np.ndarray) and each.dtype.kind in "iu"]
    if not leading or len(arrays) != leading or not array.flags.c_contiguous or not array.size:
        return False
    places: Any = 0
    for index, length in zip(arrays, array.shape, strict=False):
        if not index.size or index.min() < 0 or index.max() >= length:
            return False
        places = places * length + index
    inner = array.shape[leading:]
    values = np.broadcast_to(values, (*places.shape, *inner))
    if array.dtype != values.dtype:
        return False
    width = prod(inner)
    target = array.reshape(-1, width)
    if width == 1:
        np.add.at(target[:, 0], places.reshape(-1), values.reshape(-1))
    else:
        add_rows(target, places.reshape(-1), values.reshape(-1, width))
    return True


def _source(generator: Generator | None) -> np.random.Generator:
    native: np.random.Generator = (default_generator(backend("cpu")) if generator is None else generator).native
    return native
