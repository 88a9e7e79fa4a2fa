"""`DaskArrays`: the lazy arrays as the core and the array kernels see them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from math import prod
from typing import Any, Final, NoReturn

import dask.array as da
import numpy as np

from dovetail_aten.backend import number_as
from dovetail_aten.backends import NamespaceArrays
from dovetail_aten.kernel_support import contiguous_strides
from dovetail_aten.typing import Array
from dovetail_kernel import dtype as DType
from dovetail_kernel.typing import NativeDtype

from .blockwise import Checked, elementwise
from .chunks import Chunked, automatic, check_known, one_empty_chunk, reshape
from .error_state import on_host
from .families import writes
from .families.indexing import read
from .families.random_numbers import ChunkedGenerator
from .shapes import native_dtype

_ALL: Final = slice(None)


class DaskArrays(NamespaceArrays):
    """Dask's arrays: chunks of NumPy's, computed when a value is asked for. They cannot be written,
    and have no strides and no address: every one of them is contiguous.
    """

    array_types = (da.Array,)
    mutable_arrays = False
    lazy = True
    scipy_package = "scipy"  # whose functions of numbers Dask calls chunk by chunk
    checks_bounds = True  # when a chunk is computed

    def native_dtype(self, wanted: DType) -> Any:
        """Return NumPy's dtype, for bfloat16 that of ml_dtypes."""
        return native_dtype(wanted)

    # -- making arrays -----------------------------------------------------------------------------

    def asarray(self, value: Any, native_dtype: Any = None) -> Any:
        """Return `value` as an array: one of NumPy's is kept in the graph as it is now. Raises
        TypeError for a dtype that tensors have not, and ValueError for chunks of unknown sizes.
        """
        if not isinstance(value, da.Array):
            value = np.array(value, native_dtype)
            native_dtype = None
        own = value.dtype if native_dtype is None else native_dtype
        if own not in self.dtype_bits:
            raise TypeError(
                f"dask.array has no dtype {own} that a tensor can have. "
                f"Convert to one of {', '.join(each.name for each in self.native_dtypes)}."
            )
        if not isinstance(value, da.Array):
            return da.from_array(value, chunks=automatic(value.shape))
        check_known(value, "a tensor on dask")
        value = one_empty_chunk(value)
        return value if own == value.dtype else value.astype(own)

    def guard(self, function: Callable[..., object], to_out: bool) -> Callable[..., Any]:
        """Return a kernel whose results without elements have one chunk: Dask fails to reshape,
        and to combine, several that are empty.
        """

        @wraps(function)
        def compact(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            if isinstance(result, tuple | list):
                return type(result)(map(one_empty_chunk, result))
            return one_empty_chunk(result)

        return compact

    def scalar(self, value: object, native_dtype: NativeDtype) -> Any:
        return da.from_array(self.number(value, native_dtype)[()], name=None)

    def number(self, value: object, native_dtype: Any) -> Any:
        """Return `value` as one of NumPy's scalars, which need no task."""
        with np.errstate(all="ignore"):
            given = np.asarray(number_as(value, self.dtypes[native_dtype]))
            return given.astype(native_dtype)[()]

    def empty(
        self, shape: Sequence[int], native_dtype: NativeDtype, device_index: int | None = None
    ) -> Any:
        """Return zeros: what is not set is the same each time that it is computed."""
        return da.zeros(tuple(shape), dtype=native_dtype, chunks=automatic(shape))

    def full(self, shape: Sequence[int], value: Any, native_dtype: NativeDtype) -> Any:
        number = self.number(value, native_dtype)
        return da.full(tuple(shape), number, dtype=native_dtype, chunks=automatic(shape))

    def to_host(self, array: Array) -> Any:
        """Compute `array`, and return it as one of NumPy's."""
        return on_host(array)

    def wrap_foreign(self, array: Array) -> Any:
        """Return an array that a program made, for a tensor around it."""
        check_known(array, "a tensor on dask")
        return array

    def clone(self, array: Array) -> Any:
        """Return another array of the same chunks, which cannot be written either."""
        return array.copy()

    def embed(self, value: Any, shape: Sequence[int], key: tuple[slice, ...], fill: object) -> Any:
        """Return an array full of `fill`, with `value` at ``[key]``: what is around is joined to
        it, which keeps its chunks.
        """
        for dim, size in enumerate(shape):
            start, stop, step = (key[dim] if dim < len(key) else _ALL).indices(size)
            count = len(range(start, stop, step))
            if value.shape[dim] != count:
                if value.shape[dim] != 1:
                    raise ValueError(f"{value.shape} does not fit {tuple(shape)} at {key}")
                sizes = (*value.shape[:dim], count, *value.shape[dim + 1 :])
                value = da.broadcast_to(value, sizes)
            value = _spread(value, dim, start, step, size, fill)
        return value

    # -- views -------------------------------------------------------------------------------------

    def data_ptr(self, array: Array) -> int:
        """Return 0: there is no memory that has an address."""
        return 0

    def strides(self, array: Array) -> tuple[int, ...]:
        """Return those of C order."""
        return contiguous_strides(array.shape)

    def is_contiguous(self, array: Array) -> bool:
        """Return True."""
        return True

    def contiguous(self, array: Array) -> Any:
        """Return `array`."""
        return array

    def may_overlap(self, a: object, b: object) -> bool:
        """Return whether the two are one."""
        return a is b

    def expand(self, array: Any, shape: Sequence[int]) -> Any:
        """Return `array` broadcast to `shape`."""
        return da.broadcast_to(array, tuple(shape))

    def diagonal(self, array: Any, offset: int, dim1: int, dim2: int) -> Any:
        """Return a diagonal."""
        return da.diagonal(array, offset, dim1, dim2)

    def view(self, array: Array, shape: Sequence[int]) -> Any:
        """Return `array` in another shape."""
        return reshape(array, shape)

    def as_strided(
        self, array: Array, size: Sequence[int], stride: Sequence[int], storage_offset: int
    ) -> Any:
        """Return the elements at these places of the array as one dimension; a part of it in C
        order is cut out, anything else is picked element by element.
        """
        size, flat = tuple(size), reshape(array, (array.size,))
        if tuple(stride) == contiguous_strides(size):
            return reshape(flat[storage_offset : storage_offset + prod(size)], size)
        places = np.full(size, storage_offset, np.int64)
        for dim, (length, step) in enumerate(zip(size, stride, strict=True)):
            along = np.arange(length) * step
            places += along.reshape((-1,) + (1,) * (len(size) - dim - 1))
        return reshape(da.take(flat, places.reshape(-1)), size)

    def reinterpret(self, array: Any, native_dtype: Any) -> Any:
        """Return the same bytes as another dtype: the last dimension, in one chunk, shrinks or
        grows. Raises ValueError as NumPy.
        """
        like = np.empty((1,) * (array.ndim - 1) + array.shape[-1:], array.dtype)
        length = like.view(native_dtype).shape[-1]
        whole = array.rechunk({array.ndim - 1: -1})
        return whole.map_blocks(
            _reinterpreted,
            native_dtype,
            dtype=native_dtype,
            chunks=(*whole.chunks[:-1], (length,)),
            meta=np.empty((0,) * array.ndim, native_dtype),
        )

    def as_view(self, *args: Any) -> NoReturn:
        """Refuse: there is no memory to show. Always raises NotImplementedError."""
        raise NotImplementedError(
            "tensors on dask have no memory that can be shown by strides. Make a new tensor."
        )

    # -- indexing ----------------------------------------------------------------------------------

    def index_put(self, array: Any, key: tuple[Any, ...], values: Any, accumulate: bool) -> Any:
        """Return a copy with `values` at ``[key]``, or added there, including at repeated indices.
        The places of a mask are computed at once unless one number goes to all of them.
        """
        if not any([isinstance(each, da.Array) for each in key]):
            made = array.copy()
            made[key] = values
            return made
        if len(key) == 1 and _is_mask(key[0]) and not accumulate and values.ndim == 0:
            mask = key[0][(..., *(None,) * (array.ndim - key[0].ndim))]
            return da.where(mask, values, array)
        if key[0] is Ellipsis:
            key = (*(_ALL,) * (array.ndim + 1 - len(key)), *key[1:])
        opened, key = with_dimensions(array, key)
        put = writes.index_put(opened, without_masks(key), values, accumulate)
        return put if opened is array else reshape(put, array.shape)

    def index_add(self, array: Array, dim: int, index: Array, source: Array) -> Any:
        return writes.index_add(array, dim, index, source)

    def scatter(self, array: Array, dim: int, index: Array, source: Array, accumulate: bool) -> Any:
        return writes.scatter(array, dim, index, source, accumulate)

    def at(self, array: Array, key: tuple[object, ...]) -> Any:
        """Return ``array[key]`` for slices of everything, indices and masks; the places of a mask
        are computed at once: they are a shape.
        """
        array, key = with_dimensions(array, key)
        return read(array, without_masks(key))

    def checked(self, array: Array, right: Array, error: Callable[..., Exception]) -> Any:
        """Return an array whose chunks raise when they are computed, if `right` is not true."""
        return elementwise(Checked(error), array, right, dtype=array.dtype)

    # -- functions that namespaces lack ------------------------------------------------------------

    def erf(self, array: Array) -> Any:
        """Return the error function, in the dtype of `array`."""
        return self._of_cpu("erf", array)

    def erfc(self, array: Array) -> Any:
        """Return the complementary error function, in the dtype of `array`."""
        return self._of_cpu("erfc", array)

    def _of_cpu(self, name: str, array: Array) -> Any:
        from .families.pointwise import Pointwise

        return Pointwise(name)(array)

    # -- random numbers ----------------------------------------------------------------------------

    def new_generator(self, seed: int) -> Any:
        return ChunkedGenerator(seed)

    def generator_state(self, native: ChunkedGenerator, seed: int) -> bytes:
        """Return the seed that the source started from, and how often it was drawn from."""
        return bytes(native.state)

    def restored_generator(self, state: bytes, like: object) -> tuple[Any, int]:
        """Return a source that stands where `generator_state` says, and its seed."""
        made = ChunkedGenerator.restored(state)
        return made, made.seed

    def _drawn(
        self, draw: Callable[..., object], shape: Sequence[int], native_dtype: NativeDtype
    ) -> Any:
        """Return numbers, of half precision in float32."""
        wide = np.dtype(np.float32) if native_dtype.itemsize == 2 else native_dtype
        return draw(shape, wide)

    def integers(self, low: int, high: int, shape: Sequence[int], generator: object) -> Any:
        return self.source(generator).integers(low, high, shape)


def with_dimensions(array: Any, key: Sequence[Any]) -> tuple[Any, tuple[Any, ...]]:
    """Return `array` with a dimension of size 1 for each mask of `key` that has none, and the key
    with that mask in one dimension: it takes all of what is there, or nothing.
    """
    opened: list[Any] = []
    masks: list[Any] = []
    for each in key:
        alone = _is_mask(each) and not each.ndim
        opened += [None] if alone else [_ALL] * (each.ndim if _is_mask(each) else 1)
        masks.append(each[None] if alone else each)
    return (array[tuple(opened)] if None in opened else array), tuple(masks)


def without_masks(key: Sequence[object]) -> tuple[Any, ...]:
    """Return `key` with every mask replaced by the places where it is true."""
    places: list[Any] = []
    for each in key:
        if _is_mask(each):
            found = np.nonzero(on_host(each))
            places.extend(da.from_array(place, chunks="auto") for place in found)
        else:
            places.append(each)
    return tuple(places)


def _is_mask(index: Any) -> bool:
    return getattr(index, "dtype", None) == np.bool_


def _spread(value: Chunked, dim: int, start: int, step: int, size: int, fill: object) -> Any:
    """Return `value` in an array of `size` along `dim`, from `start` on in steps."""

    def gap(length: int) -> Any:
        chunks = (*value.chunks[:dim], (length,), *value.chunks[dim + 1 :])
        return da.full(_shape(chunks), number, dtype=value.dtype, chunks=chunks)

    number = np.asarray(fill, value.dtype)[()]
    if step > 1 and value.shape[dim]:
        # Every element with its gap behind it; the last gap is cut off.
        own = value[(*(_ALL,) * dim, _ALL, None)]
        chunks = (*value.chunks[: dim + 1], (step - 1,), *value.chunks[dim + 1 :])
        gaps = da.full(_shape(chunks), number, dtype=value.dtype, chunks=chunks)
        joined = da.concatenate([own, gaps], axis=dim + 1)
        length = value.shape[dim] * step
        value = reshape(joined, (*value.shape[:dim], length, *value.shape[dim + 1 :]))
        value = value[(*(_ALL,) * dim, slice(size - start))]
    behind = size - start - value.shape[dim]
    parts = [*([gap(start)] if start else []), value, *([gap(behind)] if behind else [])]
    return da.concatenate(parts, axis=dim) if len(parts) > 1 else value


def _shape(chunks: Sequence[Sequence[int]]) -> tuple[int, ...]:
    return tuple(map(sum, chunks))


def _reinterpreted(chunk: Array, native_dtype: NativeDtype) -> Any:
    return np.ascontiguousarray(chunk).view(native_dtype)
