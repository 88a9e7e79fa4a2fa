"""`CpuArrays`: NumPy arrays as the core sees them."""

from __future__ import annotations

from ctypes import c_size_t
from functools import partial
from typing import Any, Final

import numpy as np

from dovetail_aten.memory_layout import contiguous_strides
from dovetail_kernel import ArrayBackend, bfloat16

from .dtypes import DTYPE_BITS, NATIVE_DTYPES
from .silence import ERROR_STATE, silent

_copyto = silent(np.copyto)
_astype = silent(np.ndarray.astype)
_array = silent(np.array)
_MAX_WORK: Final = 10_000
_BFLOAT16: Final = NATIVE_DTYPES[bfloat16]

_read_address = c_size_t.from_address
_DATA: Final = object.__basicsize__
"""Where an ndarray has its data pointer: it is the first member of NumPy's public struct, behind the object's head."""


class CpuArrays(ArrayBackend):
    """What the core has to know about NumPy arrays."""

    array_types = (np.ndarray,)
    dtype_bits = DTYPE_BITS
    native_dtypes = NATIVE_DTYPES
    error_state = ERROR_STATE
    dlpack_types = (1, 3)  # host memory, also where CUDA pinned it
    lift = staticmethod(np.asarray)  # type: ignore[assignment]  # a method in Python would cost as much again

    def is_contiguous(self, array: Any) -> bool:
        """Return whether the elements of `array` lie in C order without gaps."""
        return bool(array.flags.c_contiguous)

    def is_column_major(self, array: Any) -> bool:
        """Return whether the matrix `array` lies in memory column by column, without gaps."""
        return bool(array.flags.fnc)

    def may_warn(self, function: Any) -> bool:
        """Return False for ufuncs and their methods: they warn in the name of their caller, and a route has none."""
        while isinstance(function, partial):
            function = function.func
        return not isinstance(getattr(function, "__self__", function), np.ufunc)

    def asarray(self, value: Any, native_dtype: Any = None) -> np.ndarray[Any, Any]:
        """Return `value` as an array in the machine's byte order, without a copy where possible.

        Raises
        ------
        TypeError
            For a dtype that Dovetail does not have.
        """
        array = np.asarray(value, native_dtype)
        if array.dtype not in DTYPE_BITS:
            native = array.dtype.newbyteorder("=")
            if native not in DTYPE_BITS:
                raise TypeError(
                    f"can't convert np.ndarray of type {array.dtype}. The only supported types are: "
                    f"{', '.join(each.name for each in NATIVE_DTYPES)}. Convert it with astype first."
                )
            array = array.astype(native)
        return array

    def scalar(self, value: Any, native_dtype: Any) -> np.ndarray[Any, Any]:
        """Return a number as a new 0-d array; integers out of range wrap, and so do floats as far as C defines it.

        Raises
        ------
        RuntimeError
            For a complex number with an imaginary part in a real dtype, or an integer too large for a float.
        """
        if isinstance(value, complex) and native_dtype.kind not in "cb":
            if value.imag:
                raise RuntimeError(
                    f"value cannot be converted to type {native_dtype.name} without overflow: {value!r}. "
                    "Take its real part."
                )
            value = value.real
        try:
            made: np.ndarray[Any, Any] = _array(value, native_dtype)
        except (OverflowError, ValueError):
            made = _wrapped(value, native_dtype)
        return made

    def to_host(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return `array` itself."""
        return array

    def empty(self, shape: tuple[int, ...], native_dtype: Any, device_index: int | None = None) -> np.ndarray[Any, Any]:
        """Return an uninitialised C-contiguous array."""
        return np.empty(shape, native_dtype)

    def data_ptr(self, array: np.ndarray[Any, Any]) -> int:
        """Return the address of the first element."""
        # ndarray.ctypes.data says the same ten times slower, and writes in place ask for it.
        return _read_address(id(array) + _DATA).value

    def storage_of(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return the root of the bases of `array`, also where something between them is no array."""
        base: Any = array.base
        while base is not None:
            if isinstance(base, np.ndarray):
                array = base
            base = getattr(base, "base", None)
        return array

    def strides(self, array: np.ndarray[Any, Any]) -> tuple[int, ...]:
        """Return the strides in elements; of an array without elements, those of a C-contiguous one."""
        if not array.size:
            return contiguous_strides(array.shape)
        itemsize = array.itemsize
        return tuple([stride // itemsize for stride in array.strides])

    def copy_into(self, destination: np.ndarray[Any, Any], source: Any) -> None:
        """Write `source`, broadcast and cast, into `destination`; a real one takes the real part of complex numbers."""
        if source.dtype == destination.dtype:
            np.copyto(destination, source)
        else:
            _copyto(destination, _without_imaginary(source, destination.dtype), "unsafe")

    def cast(self, array: Any, native_dtype: Any) -> np.ndarray[Any, Any]:
        """Return a copy of `array` with another dtype; of complex numbers, the real part in a real one."""
        # NumPy makes numbers, not arrays, of reductions over everything.
        found = np.asarray(array)
        if found.base is not None and 0 in found.strides:
            # Expanded: NumPy would put the dimensions that share memory innermost.
            return np.array(_without_imaginary(found, native_dtype), native_dtype, order="C")
        made: np.ndarray[Any, Any] = _astype(_without_imaginary(found, native_dtype), native_dtype)
        return made

    def to_dlpack(self, array: Any, stream: int | None, max_version: tuple[int, int] | None) -> Any:
        """Return a DLPack capsule of `array`; of bfloat16 too, which NumPy does not exchange itself."""
        if array.dtype != _BFLOAT16:
            return array.__dlpack__(max_version=max_version)
        from dovetail_kernel.dlpack import BFLOAT, UINT, change_dtype_code

        capsule = array.view(np.uint16).__dlpack__(max_version=max_version)
        change_dtype_code(capsule, UINT, BFLOAT)
        return capsule

    def from_dlpack(self, source: Any) -> np.ndarray[Any, Any]:
        """Return an array that shares memory with `source`.

        Raises
        ------
        BufferError, RuntimeError
            If NumPy has no such dtype.
        """
        carrier = _Bfloat16AsIntegers(source)
        array: np.ndarray[Any, Any] = np.from_dlpack(carrier)
        return array.view(_BFLOAT16) if carrier.is_bfloat16 else array

    def may_overlap(self, a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
        """Return whether two arrays share some element; True if that is too hard to tell."""
        if not np.may_share_memory(a, b):
            return False
        try:
            return np.shares_memory(a, b, _MAX_WORK)  # type: ignore[arg-type, unused-ignore]  # old stubs
        except np.exceptions.TooHardError:
            return True

    def new_generator(self, seed: int) -> np.random.Generator:
        """Return a source of random numbers that depends on `seed` alone."""
        return np.random.Generator(np.random.PCG64(seed))

    def generator_state(self, native: np.random.Generator) -> bytes:
        """Return where a source of random numbers stands."""
        found: Any = native.bit_generator.state
        numbers: dict[str, int] = found["state"]
        left: bytes = found["uinteger"].to_bytes(4, "little") + bytes([found["has_uint32"]])
        return b"".join([numbers[name].to_bytes(16, "little") for name in ("state", "inc")]) + left

    def restored_generator(self, state: bytes) -> np.random.Generator:
        """Return a new source of random numbers that stands where `generator_state` says."""
        made = self.new_generator(0)
        state_number, increment = (int.from_bytes(part, "little") for part in (state[:16], state[16:32]))
        made.bit_generator.state = {
            "bit_generator": "PCG64",
            "state": {"state": state_number, "inc": increment},
            "uinteger": int.from_bytes(state[32:36], "little"),
            "has_uint32": state[36],
        }
        return made


class _Bfloat16AsIntegers:
    """Stands for an exporter of DLPack before NumPy, which takes bfloat16 elements as integers of the same size."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self.is_bfloat16 = False

    def __dlpack__(self, **options: Any) -> Any:
        from dovetail_kernel.dlpack import BFLOAT, UINT, change_dtype_code

        capsule = self._source.__dlpack__(**options)
        self.is_bfloat16 = change_dtype_code(capsule, BFLOAT, UINT)
        return capsule

    def __dlpack_device__(self) -> Any:
        return self._source.__dlpack_device__()


def _without_imaginary(array: Any, native_dtype: Any) -> Any:
    """Return the real part of a complex array that is to become real: NumPy warns of the loss, PyTorch does not."""
    return array.real if array.dtype.kind == "c" and native_dtype.kind not in "cb" else array


def _wrapped(value: Any, native_dtype: Any) -> np.ndarray[Any, Any]:
    """Return a number that `native_dtype` cannot hold as what C makes of it."""
    if native_dtype.kind not in "iu":
        raise RuntimeError(
            f"value cannot be converted to type {native_dtype.name} without overflow: {value!r}. Give a smaller number."
        ) from None
    if not isinstance(value, int):
        made: np.ndarray[Any, Any] = _astype(np.asarray(value, np.float64), native_dtype)
        return made
    unsigned = np.dtype(f"u{native_dtype.itemsize}")
    return np.asarray(value & ((1 << 8 * native_dtype.itemsize) - 1), unsigned).view(native_dtype)
