"""`CoreArrays`: the arrays of a namespace with NumPy's names, as the core sees them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import Any, NoReturn

from dovetail_kernel import DTYPES, ArrayBackend, dtype
from dovetail_kernel import bool as bool_
from dovetail_kernel.devices import Placement, share_bytes
from dovetail_kernel.types import COMPLEX
from dovetail_kernel.typing import NativeDtype

from ..kernel_support.geometry.memory_layout import StrideRule, contiguous_strides
from ..typing import Array
from .devices import ready_backend
from .error_state import find_error_state
from .wrapped_numbers import number_as


class NativeDtypes(dict[dtype, Any]):
    """Native dtypes by dtype; asking for one that the library has not raises TypeError."""

    def __init__(self, device_type: str, library: str, known: Mapping[dtype, object]) -> None:
        super().__init__(known)
        self._device_type, self._library = device_type, library

    def __missing__(self, wanted: dtype) -> NoReturn:
        raise TypeError(
            f"{wanted!r} is not supported on {self._device_type}: {self._library} has no "
            f"{wanted.name}. "
            "Convert to float16 or float32 first."
        )


class CoreArrays(ArrayBackend):
    """The array side of a backend, in terms of a namespace.

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
    """

    dtypes: Mapping[Any, dtype]

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
        scalar = getattr(self.xp, wanted.name, bool if wanted is bool_ else None)
        make = getattr(self.xp, "dtype", None)
        if scalar is None or (make is None and not isinstance(scalar, type)):
            return scalar  # the array API standard has dtypes by name, and nothing that makes them
        return self.needed("dtype", "native_dtype(self, wanted)")(scalar)

    def needed(self, name: str, method: str) -> Any:
        """Return what the namespace has under a dotted name. Raises NotImplementedError if it has
        not; `method` is what the author of the backend is told to write instead.
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
        error_state, set_error_state, _, silent = self.error_state
        before = error_state()
        try:
            set_error_state(silent)
            yield
        finally:
            set_error_state(before)

    # -- for the core: see ArrayBackend ------------------------------------------------------------

    def asarray(self, value: Any, native_dtype: NativeDtype | None = None) -> Any:
        """Return `value` as an array, without a copy where possible. Raises TypeError for a dtype
        that the library has not.
        """
        own = getattr(value, "dtype", None) if native_dtype is None else native_dtype
        if own is not None and own not in self.dtype_bits:
            raise TypeError(
                f"{self.library} has no dtype {own}. "
                f"Convert to one of {', '.join(each.name for each in self.native_dtypes)}."
            )
        make = self.needed("asarray", "asarray(self, value, native_dtype=None)")
        return make(value, dtype=native_dtype)

    def scalar(self, value: Any, native_dtype: NativeDtype) -> Any:
        """Return a number as a new 0-d array; integers out of range wrap. Raises the errors of
        `number_as`.
        """
        with self.quiet():
            return self.asarray(number_as(value, self.dtypes[native_dtype]), native_dtype)

    def to_host(self, array: Any) -> Any:
        """Return `array` as a NumPy array, by its ``__array__``."""
        return ready_backend("cpu").arrays.asarray(array)

    def empty(
        self, shape: Sequence[int], native_dtype: NativeDtype, device_index: int | None = None
    ) -> Any:
        """Return an uninitialised C-contiguous array, on the current device."""
        make = self.needed("empty", "empty(self, shape, native_dtype, device_index=None)")
        return make(tuple(shape), dtype=native_dtype)

    def full(self, shape: Sequence[int], value: Any, native_dtype: NativeDtype) -> Any:
        """Return an array full of a number that `native_dtype` can hold."""
        if not shape:
            return self.scalar(value, native_dtype)
        make = self.needed("full", "full(self, shape, value, native_dtype)")
        return make(tuple(shape), value, dtype=native_dtype)

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

    def storage_offset(self, array: Any) -> int:
        """Return the distance of the first element from the start of the memory, in elements."""
        return (self.data_ptr(array) - self.memory_bounds(array)[0]) // int(array.dtype.itemsize)

    def strides(self, array: Any) -> tuple[int, ...]:
        """Return the strides in elements; of an array without strides, those of C order: new ones
        without elements have zeros in NumPy.
        """
        strides = getattr(array, "strides", None)
        if strides is None or (not array.size and not any(strides)):
            return contiguous_strides(array.shape)
        itemsize = array.dtype.itemsize
        return tuple([stride // itemsize for stride in strides])

    def ruled_strides(self, view: Any, rule: StrideRule, array: Any) -> tuple[int, ...] | None:
        """Return the strides, in bytes, that `rule` gives `view`, of `array`; None where it has
        them, as every view of elements has without dimensions of size 1.
        """
        if 1 not in view.shape and view.size:
            return None
        strides = rule(array.shape, self.strides(array), view.shape)
        if strides is None or strides == self.strides(view):
            return None
        return tuple([stride * view.itemsize for stride in strides])

    def is_contiguous(self, array: Any) -> bool:
        flags = getattr(array, "flags", None)
        return super().is_contiguous(array) if flags is None else bool(flags.c_contiguous)

    def contiguous(self, array: Array) -> Any:
        """Return `array`, or a copy of it in C order."""
        return array if self.is_contiguous(array) else array.copy()

    def owns_memory(self, memory: Any) -> bool:
        """Return whether the last base of `memory` is an array that owns its data."""
        while (base := getattr(memory, "base", None)) is not None:
            memory = base
        return bool(getattr(getattr(memory, "flags", None), "owndata", False))

    def copy_into(self, destination: Array, source: Any) -> None:
        """Write `source`, broadcast and cast, into `destination`; a real one takes the real part of
        complex numbers.
        """
        with self.quiet():
            destination[...] = self.without_imaginary(source, destination.dtype)

    def cast(self, array: Array, native_dtype: NativeDtype) -> Any:
        """Return a copy of `array` with another dtype; of complex numbers, the real part in a real
        one.
        """
        with self.quiet():
            # Libraries make numbers, not arrays, of reductions over everything.
            return self.to_scalar_array(
                self.without_imaginary(array, native_dtype).astype(native_dtype)
            )

    def without_imaginary(self, array: Array, native_dtype: NativeDtype) -> Any:
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
        if share is None:
            return self.storage_of(a) is self.storage_of(b)
        # That compares where they begin and end.
        return bool(share(a, b)) and share_bytes(self._placement(a), self._placement(b))

    def _placement(self, array: Array) -> Placement:
        itemsize = array.dtype.itemsize
        steps = [step * itemsize for step in self.strides(array)]
        return Placement(self.data_ptr(array), array.shape, steps, itemsize)

    def new_generator(self, seed: int) -> Any:
        return self.needed("random.default_rng", "new_generator(self, seed)")(seed)

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
