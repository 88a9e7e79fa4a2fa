"""`NamespaceArrays`: the arrays of a namespace with NumPy's names. A backend overrides what its
library does otherwise or faster; where a default needs what the namespace lacks, the error names
the method to write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from math import prod
from types import MappingProxyType
from typing import Any, Final

from dovetail_kernel import backend, bfloat16, finfo, float16, float32, uint8
from dovetail_kernel.typing import NativeDtype

from ..kernel_support.geometry import memory_layout as layout
from ..kernel_support.geometry.view_bounds import extent, shares_places
from ..kernel_support.result_formats import in_order_of_operands, laid_in_order
from ..typing import Array
from .core_arrays import CoreArrays
from .devices import ready_backend
from .generator import Generator, default_generator

_ALL: Final = slice(None)
_BACKWARDS: Final = slice(None, None, -1)
_HALF_STEPS: Final = {float16: 1 << 11, bfloat16: 1 << 8}
"""How many numbers of [0, 1) lie equally spaced in a half-precision dtype."""


class NamespaceArrays(CoreArrays):
    """The array side of a backend, and the `Capabilities` of its array kernels.

    Parameters and the other attributes are those of `CoreArrays`.

    Attributes
    ----------
    checks_bounds
        Whether ``array[index]`` raises IndexError for an index out of range. Default: False:
        kernels check indices, which waits for the device, because many libraries wrap or clamp them
        silently.
    lazy
        Whether arrays are computed only later, so that looking at a value would compute them at
        once. Default: False. If True, kernels read no values unless they return one, and `checked`
        must be defined.
    plain_arrays
        Whether no array overrides functions of the namespace (``__array_function__``), so that
        kernels call what stands behind functions that ask for that first. Default: False.
    quick
        Functions that kernels call in place of those of the namespace with the same name.
        Default: none.
    mutable_arrays
        Default: True. If False, `embed`, `index_put`, `index_add`, `scatter` and `as_strided` must
        be defined, and writes in place replace the array of a tensor.
    scipy_package
        Name of the package that has SciPy's modules for these arrays: ``"scipy"`` for NumPy's,
        ``"cupyx.scipy"`` for CuPy's. Default: None: operators that need it raise an error when
        called.
    """

    checks_bounds: bool = False
    lazy: bool = False
    plain_arrays: bool = False
    quick: Mapping[str, Callable[..., Any]] = MappingProxyType({})
    scipy_package: str | None = None

    def guard(self, function: Callable[..., object], to_out: bool) -> Callable[..., Any]:
        """Return the kernel unchanged."""
        return function

    def in_order(self, function: Callable[..., object]) -> Callable[..., Any]:
        """Return an elementwise function whose results lie in memory in PyTorch's order."""
        return in_order_of_operands(function, self.xp, self)

    def addition(self) -> Callable[[Any, Any], Any]:
        """Return what adds two arrays, whose sum lies in memory in PyTorch's order."""
        return self.in_order(self.needed("add", "addition(self)"))

    # -- making arrays -----------------------------------------------------------------------------

    def number(self, value: complex, native_dtype: NativeDtype) -> Any:
        """Return `value` as a 0-d array."""
        return self.scalar(value, native_dtype)

    def are_below(self, index: Any, size: int) -> bool:
        """Return whether all integers of an array are at least 0 and less than `size`."""
        least, greatest = self.needed("amin", "are_below(self, index, size)"), self.xp.amax
        return bool(least(index) >= 0) and bool(greatest(index) < size)

    def checked(self, array: Any, right: Any, error: Callable[[Any], Exception]) -> Any:
        """Return a lazy array that raises an error when it is computed, if elements are invalid.
        Defined by lazy backends.

        Parameters
        ----------
        array
            A lazy array.
        right
            A lazy boolean array that broadcasts with `array`: whether elements are valid.
        error
            Function that returns the exception for the first invalid element.

        Raises
        ------
        NotImplementedError
            Always: only lazy backends define it.
        """
        cls = type(self)
        raise NotImplementedError(
            f"backend {self.device_type!r} computes later, and checks values then. Write "
            f"{cls.__module__}.{cls.__qualname__}.checked(self, array, right, error) for them."
        )

    def filled(self, shape: Sequence[int], number: Any, native_dtype: NativeDtype) -> Any:
        """Return a new array filled with `number`."""
        return self.needed("full", "filled(self, shape, number, native_dtype)")(
            shape, number, dtype=native_dtype
        )

    def clone(self, array: Any) -> Any:
        """Return a new array with the same elements, in the same order of strides."""
        made = self.needed("array", "clone(self, array)")(array, copy=True)
        return laid_in_order(made, [array], self.xp, self)

    def overwritten(self, array: Any, source: Any) -> Any:
        """Return a new array of the shape and dtype of `array` with the elements of `source`,
        broadcast and cast.
        """
        made = self.asarray(source)
        made = self.clone(made) if made.dtype == array.dtype else self.cast(made, array.dtype)
        return made if made.shape == array.shape else self.clone(self.expand(made, array.shape))

    def embed(self, value: Array, shape: Sequence[int], key: tuple[slice, ...], fill: Any) -> Any:
        """Return a new array filled with `fill`, with `value` at ``[key]``."""
        self._check_mutable("embed(self, value, shape, key, fill)")
        array = (
            self.xp.full(tuple(shape), fill, dtype=value.dtype)
            if fill
            else self.xp.zeros(tuple(shape), dtype=value.dtype)
        )
        array[key] = value
        return array

    # -- views -------------------------------------------------------------------------------------

    def storage_of(self, array: Any) -> Any:
        """Return the owner of the memory of `array`; for immutable arrays, `array` itself."""
        return super().storage_of(array) if self.mutable_arrays else array

    def view(self, array: Any, shape: Sequence[int]) -> Any | None:
        """Return a view with another shape; None if the strides do not allow it. Immutable arrays
        always allow it, because views and copies are indistinguishable.
        """
        if not self.mutable_arrays:
            return array.reshape(tuple(shape))
        try:
            view = array.reshape(tuple(shape), copy=False)
        except ValueError:
            return None
        flags = getattr(array, "flags", None)
        is_known = flags is None or (flags.c_contiguous and 1 not in array.shape and array.size)
        return view if is_known else self.with_strides(view, layout.reshaped_strides, array)

    def expand(self, array: Array, shape: Sequence[int]) -> Any:
        """Return a view broadcast to `shape`; the library determines whether it is writable."""
        if array.size and prod(shape) == array.size:
            view = array[(*(None,) * (len(shape) - array.ndim), ...)]
        else:
            view = self.needed("broadcast_to", "expand(self, array, shape)")(array, tuple(shape))
        if not view.size and _is_writable(array):
            view.flags.writeable = True  # no two of its elements share memory
        is_known = view.size and 1 not in view.shape
        return view if is_known else self.with_strides(view, layout.expanded_strides, array)

    def with_strides(self, view: Array, rule: layout.StrideRule, array: Array) -> Any:
        """Return `view`: most libraries show no strides."""
        return view

    def diagonal(self, array: Array, offset: int, dim1: int, dim2: int) -> Any:
        """Return a view of a diagonal, as writable as `array` is."""
        take = self.needed("diagonal", "diagonal(self, array, offset, dim1, dim2)")
        view = take(array, offset=offset, axis1=dim1, axis2=dim2)
        if _is_writable(array):
            view.flags.writeable = True  # NumPy makes it read-only
        return view

    def as_strided(
        self, array: Array, size: Sequence[int], stride: Sequence[int], storage_offset: int
    ) -> Any:
        """Return a view of the memory of `array`, within its bounds."""
        memory, itemsize = self.storage_of(array), array.dtype.itemsize
        steps = tuple([step * itemsize for step in stride])
        return self.as_view(memory, array.dtype, tuple(size), steps, storage_offset * itemsize)

    def as_view(
        self,
        memory: Any,
        native_dtype: NativeDtype,
        shape: Sequence[int],
        strides: Sequence[int],
        offset: int,
    ) -> Any:
        """Return a view of `memory`; strides and offset are in bytes. If elements overlap, the view
        is read-only, if the library supports it.
        """
        as_strided = self.needed(
            "lib.stride_tricks.as_strided", "shown(self, memory, native_dtype, shape, strides, ...)"
        )
        start, stop = self.byte_bounds(memory)
        backwards = [_BACKWARDS if step < 0 else _ALL for step in getattr(memory, "strides", ())]
        own = memory.dtype.itemsize
        line = as_strided(memory[(*backwards, ...)], ((stop - start) // own,), (own,))
        if memory.dtype != native_dtype or offset % own:
            itemsize = native_dtype.itemsize
            line = line.view(self.native_dtypes[uint8])[offset:]
            first = line[: line.size // itemsize * itemsize].view(native_dtype)
        else:
            first = line[offset // own :]
        view = as_strided(first, tuple(shape), strides)
        if shares_places(shape, strides) and _is_writable(view):
            view.flags.writeable = False
        return view

    def write_once(self, array: Any, source: Any, memory: Any) -> bool:
        """Write to the read-only `array`: a single number for all elements, or any values if no
        elements overlap. Return False if this is impossible or `memory` is read-only too.
        """
        sizes = [
            size if step else min(size, 1)
            for size, step in zip(array.shape, array.strides, strict=True)
        ]
        if not _is_writable(memory) or (source.ndim and sizes != list(array.shape)):
            return False
        first = self.data_ptr(array) - self.byte_bounds(memory)[0]
        self.copy_into(self.as_view(memory, array.dtype, sizes, array.strides, first), source)
        return True

    def resized(self, array: Array, shape: Sequence[int]) -> Any | None:
        """Return a C-order view of another shape with the same start as `array`; None if its memory
        is too small or arrays are immutable.
        """
        if not self.mutable_arrays:
            return None
        start, stop = self.memory_bounds(array)
        itemsize, strides = array.dtype.itemsize, layout.contiguous_strides(shape)
        first = self.data_ptr(array) - start
        if first % itemsize or first + extent(shape, strides) * itemsize > stop - start:
            return None
        return self.as_strided(array, shape, strides, first // itemsize)

    def reinterpret(self, array: Any, native_dtype: NativeDtype) -> Any:
        """Return a view with another dtype.

        Raises
        ------
        ValueError
            If the last dimension is not contiguous or not divisible.
        """
        made = array.view(native_dtype)
        own, itemsize = array.dtype.itemsize, native_dtype.itemsize
        if made.size or not made.ndim or own == itemsize or not hasattr(array, "strides"):
            return made
        steps = [step * own for step in self.strides(array)[:-1]]  # NumPy's are those of a copy
        return self.as_view(made, native_dtype, made.shape, (*steps, itemsize), 0)

    # -- indexing ----------------------------------------------------------------------------------

    def index_put(
        self, array: Array, key: tuple[object, ...], values: Any, accumulate: bool
    ) -> Any:
        """Return a copy with `values` at ``[key]``, or added there, including at repeated
        indices.
        """
        return self._with(
            array, key, values, accumulate, "index_put(self, array, key, values, accumulate)"
        )

    def index_combine(
        self, array: Array, key: tuple[object, ...], values: Any, function: str
    ) -> Any:
        """Return a copy with `values` combined with the elements at ``[key]`` by ``multiply``,
        ``maximum`` or ``minimum``, including at repeated indices.
        """
        method = "index_combine(self, array, key, values, function)"
        self._check_mutable(method)
        made = self.clone(array)
        self.needed(f"{function}.at", method)(made, key, values)
        return made

    def index_add(self, array: Array, dim: int, index: Any, source: Any) -> Any:
        """Return a copy with the slices of `source` added at `index` along `dim`."""
        key = (*(_ALL,) * dim, index)
        return self._with(array, key, source, True, "index_add(self, array, dim, index, source)")

    def scatter(self, array: Array, dim: int, index: Array, source: Any, accumulate: bool) -> Any:
        """Return a copy with the elements of `source` at `index` along `dim`, or added there."""
        method = "scatter(self, array, dim, index, source, accumulate)"
        arange = self.needed("arange", method)
        key: list[Any] = list(
            self.needed("ix_", method)(*[arange(length) for length in index.shape])
        )
        key[dim] = index
        return self._with(array, tuple(key), source, accumulate, method)

    def _with(
        self, array: Array, key: tuple[object, ...], values: Any, accumulate: bool, method: str
    ) -> Any:
        self._check_mutable(method)
        made = self.clone(array)
        if accumulate:
            self.needed("add.at", method)(made, key, values)
        else:
            made[key] = values
        return made

    # -- functions that namespaces lack ------------------------------------------------------------

    def erf(self, array: Array) -> Any:
        """Return the error function, in the dtype of `array`; computed in host memory."""
        return self._on_host("erf", array)

    def erfc(self, array: Array) -> Any:
        """Return the complementary error function; computed in host memory."""
        return self._on_host("erfc", array)

    def _on_host(self, name: str, array: Array) -> Any:
        host: Any = ready_backend("cpu").arrays
        return self.asarray(getattr(host, name)(self.to_host(array)), array.dtype)

    def scipy(self, function: str) -> Any | None:
        """Return a function of `scipy_package`, by its dotted name there; None if there is none."""
        module, _, name = function.rpartition(".")
        if self.scipy_package is None:
            return None
        return getattr(import_module(f"{self.scipy_package}.{module}"), name, None)

    def finfo(self, native_dtype: NativeDtype) -> tuple[float, float]:
        """Return the least and greatest finite number of a floating-point dtype."""
        limits = finfo(self.dtypes[native_dtype])
        return limits.min, limits.max

    # -- random numbers ----------------------------------------------------------------------------

    _default_generator: Generator | None = None

    def source(self, generator: Any) -> Any:
        """Return the `new_generator` object of a generator, or of the backend's default generator.

        Raises
        ------
        RuntimeError
            If the generator belongs to another device type.
        """
        if generator is None:
            default = self._default_generator
            if default is None:
                default = self._default_generator = default_generator(backend(self.device_type))
            return default.native
        if generator.device.type != self.device_type:
            raise RuntimeError(
                f"Expected a '{self.device_type}' device type for generator but found "
                f"'{generator.device.type}'. Make one for it: "
                f"Generator(device='{self.device_type}')."
            )
        return generator.native

    def uniform(self, shape: Sequence[int], native_dtype: NativeDtype, generator: object) -> Any:
        """Return numbers in [0, 1); for half precision, float32 numbers that it can represent."""
        steps = _HALF_STEPS.get(self.dtypes[native_dtype])
        drawn = self._drawn(self.source(generator).random, shape, native_dtype)
        return drawn if steps is None else self.xp.floor(drawn * steps) / steps

    def normal(self, shape: Sequence[int], native_dtype: NativeDtype, generator: object) -> Any:
        """Return standard normal numbers, in float32 for half precision."""
        return self._drawn(self.source(generator).standard_normal, shape, native_dtype)

    def _drawn(
        self, draw: Callable[..., object], shape: Sequence[int], native_dtype: NativeDtype
    ) -> Any:
        half = self.dtypes[native_dtype] in _HALF_STEPS
        wide = self.native_dtypes[float32] if half else native_dtype
        return draw(size=tuple(shape), dtype=wide)

    def integers(self, low: int, high: int, shape: Sequence[int], generator: object) -> Any:
        """Return int64 numbers in [low, high)."""
        return self.source(generator).integers(low, high, size=tuple(shape), dtype=self.xp.int64)

    def permutation(self, n: int, generator: object) -> Any:
        """Return the int64 numbers below `n` in random order."""
        return self.source(generator).permutation(n)


def _is_writable(array: Any) -> bool:
    """Return whether `array` says that it may be written, as NumPy's do."""
    return getattr(getattr(array, "flags", None), "writeable", False)
