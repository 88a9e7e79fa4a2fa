"""`CudaArrays`: CuPy arrays as the core and the array kernels see them, where CuPy is not like
NumPy.
"""

from __future__ import annotations

from typing import Any, Final

import cupy
import cupyx.scipy.special
import ml_dtypes
import numpy as np

from dovetail_aten.backend.wrapped_numbers import number_as
from dovetail_kernel import bfloat16

from .availability import device_count
from .random_arrays import CudaRandom

_ALL: Final = slice(None)
_ADDED_AS: Final = {
    np.dtype(own): np.dtype(other)
    for other, narrower in (
        ("uint32", ("bool", "uint8", "uint16")),
        ("int32", ("int8", "int16")),
        ("float32", (ml_dtypes.bfloat16,)),
    )
    for own in narrower
}
"""What to add in where CuPy has no atomic addition; narrowing afterwards wraps."""


class CudaArrays(CudaRandom):
    """CuPy's arrays, with bfloat16 from ml_dtypes. An index out of range wraps around, where NumPy
    raises.
    """

    array_types = (cupy.ndarray,)
    scipy_package = "cupyx.scipy"
    dlpack_types = (2, 13)  # device memory, also where it is managed

    def __init__(self, device_type: str = "cuda", namespace: Any = cupy) -> None:
        super().__init__(device_type, namespace)

    def native_dtype(self, wanted: Any) -> Any:
        """Return NumPy's dtype, which is CuPy's."""
        return np.dtype(ml_dtypes.bfloat16 if wanted is bfloat16 else wanted.name)

    # -- devices and memory ------------------------------------------------------------------------

    def device_count(self) -> int:
        """Return how many CUDA devices there are."""
        return device_count()

    def on_device(self, index: int) -> Any:
        """Return a context in which new arrays are made on the device `index`."""
        return cupy.cuda.Device(index)

    def to_device(self, array: Any, index: int) -> Any:
        """Return `array` on the device `index`, a copy if it is on another one."""
        if array.device.id == index:
            return array
        with cupy.cuda.Device(index):
            return array.copy()

    def device_index(self, array: Any) -> int:
        """Return the index of the device that holds `array`."""
        index: int = array.device.id
        return index

    def synchronize(self) -> None:
        """Wait until the current device has done all that was asked of it."""
        cupy.cuda.get_current_stream().synchronize()

    def to_host(self, array: Any) -> Any:
        """Return a copy of `array` in host memory, once the device has computed it."""
        return cupy.asnumpy(array)

    def copy_into(self, destination: Any, source: Any) -> None:
        """Write `source`, broadcast and cast, into `destination`; a real one takes the real part of
        complex numbers.
        """
        cupy.copyto(destination, self.without_imaginary(source, destination.dtype), "unsafe")

    # -- making arrays -----------------------------------------------------------------------------

    def from_dlpack(self, source: Any) -> Any:
        """Return an array that shares memory with `source`, ordered after what its stream was asked
        to do.
        """
        return cupy.from_dlpack(source)

    def scalar(self, value: Any, native_dtype: Any) -> Any:
        """Return a number as a new 0-d array; integers out of range wrap. Raises as `number_as`."""
        return cupy.asarray(self._host_number(value, native_dtype))

    def number(self, value: complex, native_dtype: Any) -> Any:
        """Return `value` as a NumPy scalar, which CuPy passes to the device as an argument, without
        a copy.
        """
        return self._host_number(value, native_dtype)[()]

    def _host_number(self, value: Any, native_dtype: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.asarray(number_as(value, self.dtypes[native_dtype])).astype(native_dtype)

    # -- indexing ----------------------------------------------------------------------------------

    def index_put(self, array: Any, key: tuple[Any, ...], values: Any, accumulate: bool) -> Any:
        """Return a copy with `values` at ``[key]``, or added there, also at repeated places."""
        return super().index_put(
            array, _without_masks(key) if accumulate else key, values, accumulate
        )

    def _with(
        self, array: Any, key: tuple[Any, ...], values: Any, accumulate: bool, method: str
    ) -> Any:
        if not accumulate:
            return super()._with(array, key, values, accumulate, method)
        own = array.dtype
        other = _ADDED_AS.get(own)
        if other is not None:
            made = array.astype(other)
            cupy.add.at(made, key, values.astype(other))
            return made.astype(own)
        made = self.clone(array)
        if own == np.int64:
            # In two's complement it makes no difference.
            unsigned = values.astype(np.int64, copy=False).view(np.uint64)
            cupy.add.at(made.view(np.uint64), key, unsigned)
        elif own.kind == "c":
            for part in ("real", "imag"):
                cupy.add.at(getattr(made, part), key, getattr(values, part))
        else:
            cupy.add.at(made, key, values)
        return made

    # -- functions that CuPy keeps elsewhere -------------------------------------------------------

    def erf(self, array: Any) -> Any:
        """Return the error function, in the dtype of `array`."""
        return cupyx.scipy.special.erf(array).astype(array.dtype, copy=False)

    def erfc(self, array: Any) -> Any:
        """Return the complementary error function, in the dtype of `array`."""
        return cupyx.scipy.special.erfc(array).astype(array.dtype, copy=False)


def _without_masks(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return `key` with every mask replaced by the places where it is true, which is what CuPy can
    add at.
    """
    places: list[Any] = []
    for each in key:
        places.extend(each.nonzero() if getattr(each, "dtype", None) == np.bool_ else (each,))
    return tuple(places)
