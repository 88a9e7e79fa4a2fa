"""`NamespaceArrays`: the arrays of a namespace with NumPy's names, as the core and the array
kernels see them.

Everything has a default in terms of the namespace. A backend overrides what its library does
otherwise or faster; where a default needs what the namespace has not, the error names the method to
write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from math import prod
from typing import Any, Final, NoReturn

from dovetail_kernel import DTYPES, ArrayBackend, backend, bfloat16, dtype, finfo, float16, float32
from dovetail_kernel import bool as bool_
from dovetail_kernel.types.dtype import COMPLEX

from ..array_kernels.memory_layout import contiguous_strides
from .devices import ready_backend
from .generator import default_generator
from .quiet import find_error_state
from .wrapped_numbers import number_as

__all__ = ["NamespaceArrays", "NativeDtypes"]

_ALL: Final = slice(None)
_HALF_STEPS: Final = {float16: 1 << 11, bfloat16: 1 << 8}
"""How many numbers of [0, 1) lie equally spaced in a half-precision dtype."""


class NativeDtypes(dict[dtype, Any]):
    """Native dtypes by dtype; asking for one that the library has not raises TypeError."""

    def __init__(self, device_type: str, library: str, known: Mapping[dtype, Any]) -> None:
        super().__init__(known)
        self._device_type, self._library = device_type, library

    def __missing__(self, wanted: dtype) -> NoReturn:
        raise TypeError(
            f"{wanted!r} is not supported on {self._device_type}: {self._library} has no "
            f"{wanted.name}. "
            "Convert to float16 or float32 first."
        )


class NamespaceArrays(ArrayBackend):
    """The array side of a backend, and the `Capabilities` of its array kernels.

    Parameters
    ----------
    device_type
        The name of the backend.
    namespace
        A module, or any object, with NumPy's names: `numpy`, `cupy`, ….

    Attributes
    ----------
    device_type, xp
        The parameters.
    library
        What messages call the namespace: its ``__name__``.
    array_types
        Default: the namespace's ``ndarray``. The first is the class of every array; what is of
        another class goes through `asarray`.
    checks_bounds
        Whether ``array[index]`` raises IndexError for an index out of range. Default: False, and
        the kernels check, which waits for the device: many libraries wrap or clamp, and give a
        wrong result.
    mutable_arrays
        Default: True. Where it is False, `embed`, `index_put`, `index_add`, `scatter` and
        `as_strided` are to be written, and writes in place replace the array of a tensor that
        shares its memory with no other.
    """

    dtypes: Mapping[Any, dtype]
    checks_bounds: bool = False

    def __init__(self, device_type: str, namespace: Any) -> None:
        self.device_type = device_type
        self.xp = namespace
        self.library = getattr(namespace, "__name__", type(namespace).__name__)
        if not self.array_types:
            self.array_types = (
                self.needed("ndarray", "array_types = (the class of your arrays,)"),
            )
        natives = {
            each: native for each in DTYPES if (native := self.native_dtype(each)) is not None
        }
        self.native_dtypes = (
            natives
            if len(natives) == len(DTYPES)
            else NativeDtypes(device_type, self.library, natives)
        )
        self.dtypes = {native: each for each, native in natives.items()}
        self.dtype_bits = {native: each.bit for each, native in natives.items()}
        if self.error_state is None:
            self.error_state = find_error_state(namespace)

    # -- finding one's way in the namespace --------------------------------------------------------

    def native_dtype(self, wanted: dtype) -> Any:
        """Return the library's dtype object for `wanted`, equal to ``array.dtype``; None if it has
        none.
        """
        scalar = bool if wanted is bool_ else getattr(self.xp, wanted.name, None)
        return (
            None if scalar is None else self.needed("dtype", "native_dtype(self, wanted)")(scalar)
        )

    def needed(self, name: str, method: str) -> Any:
        """Return what the namespace has under a dotted name.

        Raises
        ------
        NotImplementedError
            If it has not; `method` is what the author of the backend is told to write instead.
        """
        try:
            return reduce(getattr, name.split("."), self.xp)
        except AttributeError:
            cls = type(self)
            raise NotImplementedError(
                f"backend {self.device_type!r}: its namespace {self.library} has no {name!r}. "
                f"Write {cls.__module__}.{cls.__qualname__}.{method}."
            ) from None

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Keep the library from warning of overflow, division by zero and NaN, in calls that no
        route makes.
        """
        if self.error_state is None:
            yield
            return
        set_state, reset, silent = self.error_state
        token = set_state(silent)
        try:
            yield
        finally:
            reset(token)

    # -- for the core: see ArrayBackend ------------------------------------------------------------

    def asarray(self, value: Any, native_dtype: Any = None) -> Any:
        """Return `value` as an array, without a copy where possible.

        Raises
        ------
        TypeError
            For a dtype that the library has not.
        """
        own = getattr(value, "dtype", None) if native_dtype is None else native_dtype
        if own is not None and own not in self.dtype_bits:
            raise TypeError(
                f"{self.library} has no dtype {own}. "
                f"Convert to one of {', '.join(each.name for each in self.native_dtypes)}."
            )
        return self.needed("asarray", "asarray(self, value, native_dtype=None)")(
            value, native_dtype
        )

    def scalar(self, value: Any, native_dtype: Any) -> Any:
        """Return a number as a new 0-d array; integers out of range wrap. Raises as `number_as`."""
        with self.quiet():
            return self.asarray(number_as(value, self.dtypes[native_dtype]), native_dtype)

    def to_host(self, array: Any) -> Any:
        """Return `array` as a NumPy array, by its ``__array__``."""
        return ready_backend("cpu").arrays.asarray(array)

    def empty(
        self, shape: Sequence[int], native_dtype: Any, device_index: int | None = None
    ) -> Any:
        """Return an uninitialised C-contiguous array, on the current device."""
        return self.needed("empty", "empty(self, shape, native_dtype, device_index=None)")(
            tuple(shape), native_dtype
        )

    def full(self, shape: Sequence[int], value: Any, native_dtype: Any) -> Any:
        """Return an array full of a number that `native_dtype` can hold."""
        if not shape:
            return self.scalar(value, native_dtype)
        return self.needed("full", "full(self, shape, value, native_dtype)")(
            tuple(shape), value, native_dtype
        )

    def device_index(self, array: Any) -> int | None:
        """Return 0: there is one device."""
        return 0

    def data_ptr(self, array: Any) -> int:
        """Return the address of the first element, by ``__array_interface__`` or
        ``__cuda_array_interface__``.
        """
        for name in ("__array_interface__", "__cuda_array_interface__"):
            if (interface := getattr(array, name, None)) is not None:
                return int(interface["data"][0])
        return int(self._only_written("data_ptr(self, array)"))

    def strides(self, array: Any) -> tuple[int, ...]:
        """Return the strides in elements; of an array without elements or without strides, those of
        C order.
        """
        strides = getattr(array, "strides", None)
        if not array.size or strides is None:
            return contiguous_strides(array.shape)
        itemsize = array.dtype.itemsize
        return tuple([stride // itemsize for stride in strides])

    def is_contiguous(self, array: Any) -> bool:
        """Return whether the elements of `array` lie in C order without gaps."""
        flags = getattr(array, "flags", None)
        return super().is_contiguous(array) if flags is None else bool(flags.c_contiguous)

    def copy_into(self, destination: Any, source: Any) -> None:
        """Write `source`, broadcast and cast, into `destination`; a real one takes the real part of
        complex numbers.
        """
        with self.quiet():
            destination[...] = self.without_imaginary(source, destination.dtype)

    def overwritten(self, array: Any, source: Any) -> Any:
        """Return a new array of the shape and dtype of `array` with the elements of `source`,
        broadcast and cast.
        """
        made = self.asarray(source)
        made = self.clone(made) if made.dtype == array.dtype else self.cast(made, array.dtype)
        return made if made.shape == array.shape else self.clone(self.expand(made, array.shape))

    def cast(self, array: Any, native_dtype: Any) -> Any:
        """Return a copy of `array` with another dtype; of complex numbers, the real part in a real
        one.
        """
        with self.quiet():
            # Libraries make numbers, not arrays, of reductions over everything.
            return self.lift(self.without_imaginary(array, native_dtype).astype(native_dtype))

    def without_imaginary(self, array: Any, native_dtype: Any) -> Any:
        """Return the real part of a complex array that is to become real: libraries warn of the
        loss, we do not.
        """
        source, wanted = self.dtypes.get(array.dtype), self.dtypes[native_dtype]
        if (
            source is not None
            and source.category == COMPLEX
            and wanted.category < COMPLEX
            and wanted is not bool_
        ):
            return array.real
        return array

    def may_overlap(self, a: Any, b: Any) -> bool:
        """Return whether two arrays share some element; True if that is too hard to tell."""
        share = getattr(self.xp, "may_share_memory", None)
        return self.storage_of(a) is self.storage_of(b) if share is None else bool(share(a, b))

    def new_generator(self, seed: int) -> Any:
        """Return a source of random numbers that depends on `seed` alone."""
        return self.needed("random.default_rng", "new_generator(self, seed)")(seed)

    # -- for the array kernels: see Capabilities. Making arrays ------------------------------------

    def number(self, value: complex, native_dtype: Any) -> Any:
        """Return `value` as a 0-d array."""
        return self.scalar(value, native_dtype)

    def clone(self, array: Any) -> Any:
        """Return a new array with the same elements, in the same order of strides."""
        return self.needed("array", "clone(self, array)")(array, copy=True)

    def contiguous(self, array: Any) -> Any:
        """Return `array`, or a copy of it in C order."""
        return array if self.is_contiguous(array) else array.copy()

    def embed(self, value: Any, shape: Sequence[int], key: tuple[slice, ...], fill: Any) -> Any:
        """Return a new array full of `fill`, with `value` at ``[key]``."""
        self._check_mutable("embed(self, value, shape, key, fill)")
        array = (
            self.xp.full(tuple(shape), fill, value.dtype)
            if fill
            else self.xp.zeros(tuple(shape), value.dtype)
        )
        array[key] = value
        return array

    # -- views -------------------------------------------------------------------------------------

    def view(self, array: Any, shape: Sequence[int]) -> Any | None:
        """Return a view with another shape of as many elements; None if the strides do not allow
        it.
        """
        try:
            return array.reshape(tuple(shape), copy=False)
        except ValueError:
            return None

    def expand(self, array: Any, shape: Sequence[int]) -> Any:
        """Return a view broadcast to `shape`, as writable as the library makes it."""
        if prod(shape) == array.size:
            new_dims = (None,) * (len(shape) - array.ndim)
            return array[(*new_dims, ...)] if array.size else self.empty(shape, array.dtype)
        return self.needed("broadcast_to", "expand(self, array, shape)")(array, tuple(shape))

    def diagonal(self, array: Any, offset: int, dim1: int, dim2: int) -> Any:
        """Return a view of a diagonal, as writable as `array` is."""
        view = self.needed("diagonal", "diagonal(self, array, offset, dim1, dim2)")(
            array, offset, dim1, dim2
        )
        if getattr(getattr(array, "flags", None), "writeable", False):
            view.flags.writeable = True  # NumPy makes it read-only
        return view

    def as_strided(
        self, array: Any, size: Sequence[int], stride: Sequence[int], storage_offset: int | None
    ) -> Any | None:
        """Return a view of the memory that `array` lies in; None if it would reach beyond."""
        as_strided = self.needed(
            "lib.stride_tricks.as_strided", "as_strided(self, array, size, stride, storage_offset)"
        )
        root, itemsize = self.storage_of(array), array.dtype.itemsize
        start, length = self.data_ptr(root), root.nbytes // itemsize
        first = (
            (self.data_ptr(array) - start) // itemsize if storage_offset is None else storage_offset
        )
        reach = sum([(count - 1) * step for count, step in zip(size, stride, strict=True)])
        if 0 not in size and first + reach + 1 > length:
            return None
        # The root owns its memory, so its elements lie there without gaps, in whatever order.
        memory = as_strided(root, (root.size,), (root.dtype.itemsize,))
        if root.dtype != array.dtype:
            memory = memory.view(array.dtype)
        return as_strided(memory[first:], tuple(size), tuple([step * itemsize for step in stride]))

    def reinterpret(self, array: Any, native_dtype: Any) -> Any:
        """Return a view with another dtype.

        Raises
        ------
        ValueError
            If the last dimension is not contiguous or not divisible.
        """
        return array.view(native_dtype)

    # -- indexing ----------------------------------------------------------------------------------

    def index_put(self, array: Any, key: tuple[Any, ...], values: Any, accumulate: bool) -> Any:
        """Return a copy with `values` at ``[key]``, or added there, also at repeated places."""
        return self._with(
            array, key, values, accumulate, "index_put(self, array, key, values, accumulate)"
        )

    def index_add(self, array: Any, dim: int, index: Any, source: Any) -> Any:
        """Return a copy with the slices of `source` added at `index` along `dim`."""
        key = (*(_ALL,) * dim, index)
        return self._with(array, key, source, True, "index_add(self, array, dim, index, source)")

    def scatter(self, array: Any, dim: int, index: Any, source: Any, accumulate: bool) -> Any:
        """Return a copy with the elements of `source` at `index` along `dim`, or added there."""
        method = "scatter(self, array, dim, index, source, accumulate)"
        arange = self.needed("arange", method)
        key: list[Any] = list(
            self.needed("ix_", method)(*[arange(length) for length in index.shape])
        )
        key[dim] = index
        return self._with(array, tuple(key), source, accumulate, method)

    def _with(
        self, array: Any, key: tuple[Any, ...], values: Any, accumulate: bool, method: str
    ) -> Any:
        self._check_mutable(method)
        made = self.clone(array)
        if accumulate:
            self.needed("add.at", method)(made, key, values)
        else:
            made[key] = values
        return made

    # -- functions that namespaces lack ------------------------------------------------------------

    def erf(self, array: Any) -> Any:
        """Return the error function, in the dtype of `array`; computed in host memory."""
        return self._on_host("erf", array)

    def erfc(self, array: Any) -> Any:
        """Return the complementary error function; computed in host memory."""
        return self._on_host("erfc", array)

    def _on_host(self, name: str, array: Any) -> Any:
        host: Any = ready_backend("cpu").arrays
        return self.asarray(getattr(host, name)(self.to_host(array)), array.dtype)

    def finfo(self, native_dtype: Any) -> tuple[float, float]:
        """Return the least and greatest finite number of a floating-point dtype."""
        limits = finfo(self.dtypes[native_dtype])
        return limits.min, limits.max

    # -- random numbers ----------------------------------------------------------------------------

    def source(self, generator: Any) -> Any:
        """Return what `new_generator` made for a generator, or for the backend's default one."""
        return (
            default_generator(backend(self.device_type)) if generator is None else generator
        ).native

    def uniform(self, shape: Sequence[int], native_dtype: Any, generator: Any) -> Any:
        """Return numbers in [0, 1); for half precision, float32 numbers that it can represent."""
        steps = _HALF_STEPS.get(self.dtypes[native_dtype])
        drawn = self._drawn(self.source(generator).random, shape, native_dtype)
        return drawn if steps is None else self.xp.floor(drawn * steps) / steps

    def normal(self, shape: Sequence[int], native_dtype: Any, generator: Any) -> Any:
        """Return standard normal numbers, in float32 for half precision."""
        return self._drawn(self.source(generator).standard_normal, shape, native_dtype)

    def _drawn(self, draw: Callable[..., Any], shape: Sequence[int], native_dtype: Any) -> Any:
        half = self.dtypes[native_dtype] in _HALF_STEPS
        return draw(tuple(shape), self.native_dtypes[float32] if half else native_dtype)

    def integers(self, low: int, high: int, shape: Sequence[int], generator: Any) -> Any:
        """Return int64 numbers in [low, high)."""
        return self.source(generator).integers(low, high, tuple(shape), self.xp.int64)

    def permutation(self, n: int, generator: Any) -> Any:
        """Return the int64 numbers below `n` in random order."""
        return self.source(generator).permutation(n)

    # -- what an author is told --------------------------------------------------------------------

    def _check_mutable(self, method: str) -> None:
        if not self.mutable_arrays:
            self._only_written(method)

    def _only_written(self, method: str) -> NoReturn:
        cls = type(self)
        raise NotImplementedError(
            f"backend {self.device_type!r} says nothing of how to do this with its arrays. "
            f"Write {cls.__module__}.{cls.__qualname__}.{method}."
        )
