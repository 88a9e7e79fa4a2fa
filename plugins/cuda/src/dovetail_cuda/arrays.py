"""`CudaArrays`: CuPy arrays as the core and the array kernels see them, where CuPy is not like
NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import cupy
import cupyx
import cupyx.scipy.special
import ml_dtypes
import numpy as np

from dovetail_aten.backend import number_as
from dovetail_aten.typing import Array
from dovetail_kernel import bfloat16
from dovetail_kernel.typing import NativeDtype

from .availability import device_count
from .device_guard import (
    check_single_places,
    into_single_places,
    on_device_of_arrays,
    single_places,
)
from .namespace.along_a_dimension import ADDED, put_along_axis
from .namespace.bessel_functions import bessel
from .namespace.combined_indices import combined
from .namespace.kernel_namespace import like_operands
from .namespace.linear_functions import LIBRARIES
from .namespace.polynomial_kernels import polynomial
from .pinned_copies import copied_soon, is_pinned
from .random_arrays import CudaRandom
from .waiting import waiting

_MAKES_ARRAYS: Final = ("cast", "clone", "contiguous", "overwritten", "to_host", "to_host_soon")
"""Methods that are called outside of kernels, with an array whose device is to be theirs."""
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
_erf: Final = like_operands(cupyx.scipy.special.erf)
_erfc: Final = like_operands(cupyx.scipy.special.erfc)


class CudaArrays(CudaRandom):
    """CuPy's arrays, with bfloat16 from ml_dtypes. An index out of range wraps around, where NumPy
    raises.
    """

    array_types = (cupy.ndarray,)
    scipy_package = "cupyx.scipy"
    dlpack_types = (2, 13)  # device memory, also where it is managed
    launches_kernels = True

    def __init__(self, device_type: str = "cuda", namespace: object = cupy) -> None:
        super().__init__(device_type, namespace)
        self.several_devices = device_count() > 1
        for name in _MAKES_ARRAYS:
            setattr(self, name, self.guard(getattr(self, name), False))

    def guard(self, function: Callable[..., object], to_out: bool) -> Callable[..., Any]:
        """Return what is run in place of a kernel: on the device of its arrays, and not into an
        array whose elements share memory.
        """
        guarded = on_device_of_arrays(function)
        return into_single_places(guarded) if to_out else guarded

    def native_dtype(self, wanted: Any) -> Any:
        """Return NumPy's dtype, which is CuPy's."""
        return np.dtype(ml_dtypes.bfloat16 if wanted is bfloat16 else wanted.name)

    # -- devices and memory ------------------------------------------------------------------------

    def device_count(self) -> int:
        """Return how many CUDA devices there are."""
        return device_count()

    def current_device(self) -> int | None:
        """Return the index of the current device; None where there is only one."""
        return cupy.cuda.Device().id if self.several_devices else None

    def on_device(self, index: int) -> Any:
        """Return a context manager in which new arrays are created on the device `index`."""
        return cupy.cuda.Device(index)

    def to_device(self, array: Any, index: int) -> Any:
        """Return `array` on the device `index`, a copy if it is on another one."""
        if array.device.id == index:
            return array
        if not array.flags.forc:
            array = self.clone(array)  # copies between devices copy memory, not elements
        with cupy.cuda.Device(index):
            return array.copy()

    def device_index(self, array: Any) -> int:
        """Return the index of the device that holds `array`."""
        index: int = array.device.id
        return index

    def synchronize(self) -> None:
        """Wait until the current device has done all that was asked of it."""
        with waiting():
            cupy.cuda.get_current_stream().synchronize()

    def current_stream(self, index: int) -> int:
        """Return the address of the stream that operators use on a device."""
        return int(cupy.cuda.get_current_stream(index).ptr)

    def to_host(self, array: Array) -> Any:
        """Return a copy of `array` in host memory, in the same order of strides, once the device
        has computed it.
        """
        with waiting("a copy to the host"):
            return in_order_of_strides(cupy.asnumpy, array)

    def copy_into(self, destination: Any, source: Array) -> None:
        """Write `source`, broadcast and cast, into `destination`; a real one takes the real part of
        complex numbers.
        """
        index = destination.device.id
        if getattr(source, "ndim", 0):
            check_single_places(destination)
        else:
            destination = single_places(destination)
        if isinstance(source, cupy.ndarray):
            source = self.to_device(source, index)
        with cupy.cuda.Device(index):
            cupy.copyto(destination, self.without_imaginary(source, destination.dtype), "unsafe")

    def fused_step(self, rule: str) -> Any:
        """Return the kernel of an optimizer's rule."""
        from .optimizer_steps import STEPS

        return STEPS.get(rule)

    def tell_launches(self, to: Callable[[str], None] | None) -> str | None:
        """Call `to` with the name of every kernel that is launched from now on; see
        `ArrayBackend.tell_launches`.
        """
        from .launch_names import tell_launches

        return tell_launches(to)

    # -- making arrays -----------------------------------------------------------------------------

    def asarray(self, value: Any, native_dtype: NativeDtype | None = None) -> Any:
        """Return `value` as an array, of a NumPy array a copy in the same order of strides. Raises
        as `CoreArrays.asarray`.
        """
        if not isinstance(value, np.ndarray):
            return self._asarray(value, native_dtype)
        found = in_order_of_strides(lambda each: self._asarray(each, native_dtype), value)
        if is_pinned(value):  # CuPy reads it where it is; what is not pinned it copies first
            with waiting("a copy of page-locked memory without non_blocking=True"):
                cupy.cuda.get_current_stream().synchronize()
        return found

    def from_host_soon(self, array: Any) -> Any:
        """Return a copy of a NumPy array, which the current stream may still be reading if it is
        page-locked; CuPy keeps it alive until then.
        """
        return in_order_of_strides(_on_device, array)

    def to_host_soon(self, array: Any) -> Any:
        """Return a copy of `array` in page-locked memory, to which the current stream may still be
        writing.
        """
        return in_order_of_strides(copied_soon, array)

    def is_pinned(self, array: Any) -> bool:
        """Return whether a NumPy array lies in page-locked memory."""
        return is_pinned(array)

    def empty_pinned(self, like: object) -> Any:
        """Return an uninitialised NumPy array in page-locked memory, in the shape and order of
        strides of another one.
        """
        return in_order_of_strides(lambda each: cupyx.empty_pinned(each.shape, each.dtype), like)

    def _asarray(self, value: Any, native_dtype: Any) -> Any:
        if isinstance(value, np.ndarray) and _is_negative_zero(value):
            value = value.astype(native_dtype or value.dtype)
            return _on_device(value)
        return super().asarray(value, native_dtype)

    def from_dlpack(self, source: Any) -> Any:
        """Return an array that shares memory with `source`, ordered after what its stream was asked
        to do.
        """
        return cupy.from_dlpack(source)

    def scalar(self, value: object, native_dtype: NativeDtype) -> Any:
        """Return a number as a new 0-d array; integers out of range wrap. Raises the errors of
        `number_as`.
        """
        return _on_device(self._host_number(value, native_dtype))

    def number(self, value: complex, native_dtype: NativeDtype) -> Any:
        """Return `value` as a NumPy scalar, which CuPy passes to the device as an argument, without
        a copy.
        """
        return self._host_number(value, native_dtype)[()]

    def _host_number(self, value: Any, native_dtype: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.asarray(number_as(value, self.dtypes[native_dtype])).astype(native_dtype)

    # -- indexing ----------------------------------------------------------------------------------

    def index_put(
        self, array: Array, key: tuple[object, ...], values: Array, accumulate: bool
    ) -> Any:
        """Return a copy with `values` at ``[key]``, or added there, including at repeated
        indices.
        """
        return super().index_put(
            array, _without_masks(key) if accumulate else key, values, accumulate
        )

    def _with(
        self, array: Array, key: tuple[object, ...], values: Array, accumulate: bool, method: str
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

    def scatter(self, array: Array, dim: int, index: Array, source: Array, accumulate: bool) -> Any:
        """Return a copy with the elements of `source` at `index` along `dim`, or added there."""
        if accumulate and array.dtype not in ADDED:
            return super().scatter(array, dim, index, source, accumulate)
        made = self.clone(array)
        put_along_axis(made, index, source, dim, add=accumulate)
        return made

    def index_combine(
        self, array: Array, key: tuple[object, ...], values: Array, function: str
    ) -> Any:
        """Return a copy with `values` combined with the elements at ``[key]`` by ``multiply``,
        ``maximum`` or ``minimum``, including at repeated indices.
        """
        return combined(self.clone(array), key, values, function)

    def scipy(self, function: str) -> Any | None:
        """Return a function of `cupyx.scipy`, by its dotted name there; None if there is none."""
        if function in LIBRARIES:
            return LIBRARIES[function]
        if function.startswith("special.eval_"):
            return polynomial(function.removeprefix("special.eval_"))
        found = super().scipy(function)
        if found is None or not function.startswith("special."):
            return found
        return bessel(function.removeprefix("special."), found) or like_operands(found)

    # -- functions that CuPy keeps elsewhere -------------------------------------------------------

    def erf(self, array: Array) -> Any:
        """Return the error function, in the dtype of `array`."""
        return _erf(array).astype(array.dtype, copy=False)

    def erfc(self, array: Array) -> Any:
        """Return the complementary error function, in the dtype of `array`."""
        return _erfc(array).astype(array.dtype, copy=False)


def _on_device(array: Array) -> Any:
    """Return a copy of a NumPy array; CuPy takes 0.0 for a -0.0 without dimensions."""
    if _is_negative_zero(array):
        return cupy.asarray(array[None]).reshape(())
    return cupy.asarray(array)


def _is_negative_zero(array: Any) -> bool:
    return not array.ndim and not array and any(array.tobytes())


def in_order_of_strides(convert: Callable[[Any], Any], array: Any) -> Any:
    """Return what `convert` makes of `array`, which it lays out in C order, with dimensions that
    follow each other in memory as those of `array` do.
    """
    if array.ndim < 2 or array.flags.c_contiguous:
        return convert(array)
    order = sorted(range(array.ndim), key=lambda dim: -array.strides[dim])
    turned = array.transpose(order)
    if not turned.flags.c_contiguous:
        return convert(array)  # it has gaps
    return convert(turned).transpose(sorted(range(array.ndim), key=order.__getitem__))


def _without_masks(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return `key` with every mask replaced by the places where it is true, which is what CuPy can
    add at.
    """
    places: list[Any] = []
    for each in key:
        places.extend(each.nonzero() if getattr(each, "dtype", None) == np.bool_ else (each,))
    return tuple(places)
