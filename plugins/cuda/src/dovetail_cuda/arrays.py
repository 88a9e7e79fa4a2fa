"""`CudaArrays`: CuPy arrays as the core sees them."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from dovetail_aten.memory_layout import contiguous_strides
from dovetail_kernel import ArrayBackend

from .dtypes import DTYPE_BITS, NATIVE_DTYPES


class CudaArrays(ArrayBackend):
    """What the core has to know about CuPy arrays."""

    array_types = (cupy.ndarray,)
    dtype_bits = DTYPE_BITS
    native_dtypes = NATIVE_DTYPES
    dlpack_types = (2, 13)  # device memory, also where it is managed

    def asarray(self, value: Any, native_dtype: Any = None) -> Any:
        """Return `value` as an array on the current device, without a copy if it is there.

        Raises
        ------
        TypeError
            For a dtype that CuPy does not have.
        """
        own = getattr(value, "dtype", None) if native_dtype is None else native_dtype
        if own is not None and own not in DTYPE_BITS:
            known = ", ".join(each.name for each in NATIVE_DTYPES)
            raise TypeError(f"CuPy has no dtype {own}. Convert to one of {known}.")
        return cupy.asarray(value, native_dtype)

    def scalar(self, value: Any, native_dtype: Any) -> Any:
        """Return a number as a new 0-d array; integers out of range wrap. Raises as `host_number`."""
        return cupy.asarray(host_number(value, native_dtype))

    def to_host(self, array: Any) -> Any:
        """Return a copy of `array` in host memory, once the device has computed it."""
        return cupy.asnumpy(array)

    def empty(self, shape: tuple[int, ...], native_dtype: Any, device_index: int | None = None) -> Any:
        """Return an uninitialised C-contiguous array on a device, by default the current one."""
        if device_index is None:
            return cupy.empty(shape, native_dtype)
        with cupy.cuda.Device(device_index):
            return cupy.empty(shape, native_dtype)

    def device_index(self, array: Any) -> int:
        """Return the index of the device that holds `array`."""
        index: int = array.device.id
        return index

    def data_ptr(self, array: Any) -> int:
        """Return the address of the first element."""
        address: int = array.data.ptr
        return address

    def strides(self, array: Any) -> tuple[int, ...]:
        """Return the strides in elements; of an array without elements, those of a C-contiguous one."""
        if not array.size:
            return contiguous_strides(array.shape)
        itemsize = array.itemsize
        return tuple([stride // itemsize for stride in array.strides])

    def copy_into(self, destination: Any, source: Any) -> None:
        """Write `source`, broadcast and cast, into `destination`; a real one takes the real part of complex numbers."""
        cupy.copyto(destination, _without_imaginary(source, destination.dtype), "unsafe")

    def cast(self, array: Any, native_dtype: Any) -> Any:
        """Return a copy of `array` with another dtype; of complex numbers, the real part in a real one."""
        return _without_imaginary(array, native_dtype).astype(native_dtype)

    def synchronize(self) -> None:
        """Wait until the current device has done all that was asked of it."""
        cupy.cuda.get_current_stream().synchronize()

    def from_dlpack(self, source: Any) -> Any:
        """Return an array that shares memory with `source`, ordered after what its stream was asked to do."""
        return cupy.from_dlpack(source)

    def may_overlap(self, a: Any, b: Any) -> bool:
        """Return whether two arrays share some element; True if the places in memory that they span overlap."""
        return bool(cupy.may_share_memory(a, b))

    def new_generator(self, seed: int) -> Any:
        """Return a source of random numbers that depends on `seed` alone."""
        return cupy.random.Generator(cupy.random.Philox4x3210(seed))


def host_number(value: Any, native_dtype: Any) -> Any:
    """Return a number as a 0-d array in host memory; integers out of range wrap.

    Raises
    ------
    RuntimeError
        For a complex number with an imaginary part in a real dtype.
    """
    if isinstance(value, complex) and native_dtype.kind not in "cb":
        if value.imag:
            raise RuntimeError(
                f"value cannot be converted to type {native_dtype.name} without overflow: {value!r}. "
                "Take its real part."
            )
        value = value.real
    if isinstance(value, int) and native_dtype.kind in "iu":
        unsigned = np.dtype(f"u{native_dtype.itemsize}")
        return np.asarray(value & ((1 << 8 * native_dtype.itemsize) - 1), unsigned).view(native_dtype)
    with np.errstate(all="ignore"):
        return np.asarray(value).astype(native_dtype)


def _without_imaginary(array: Any, native_dtype: Any) -> Any:
    """Return the real part of a complex array that is to become real: CuPy warns of the loss, PyTorch does not."""
    return array.real if array.dtype.kind == "c" and native_dtype.kind not in "cb" else array
