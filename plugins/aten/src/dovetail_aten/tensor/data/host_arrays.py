"""NumPy arrays and the arrays of backends, taken as tensors without a copy."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, cast

from dovetail_kernel import (
    TensorBase,
    backend_of_array,
    dtype_of_signature,
    is_writable,
    warn_user_once,
    wrap,
)

from ...backend.devices import ready_backend
from ...typing import Tensor
from .dtype_arguments import check_number

_SUPPORTED = (
    "float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, "
    "uint16, "
    "uint8, and bool"
)


def share_host(array: Any) -> Tensor:
    """Return `from_host` for a program that asked for shared memory: a warning, once per process,
    says that read-only memory is copied when the tensor is first written.
    """
    if not is_writable(array):
        warn_user_once(
            "The given NumPy array or buffer is not writable. It stays as it is: the first write "
            "to the tensor moves it, and its views, to a copy. Copy the array to have one from "
            "the start.",
            site="read-only memory",
        )
    return from_host(array)


def from_host(array: Any) -> Tensor:
    """Return a tensor around a NumPy array (or another backend's own), sharing memory. Raises the
    errors of `from_numpy`.
    """
    cpu = ready_backend("cpu")  # first: another backend's arrays may be NumPy's too
    if array.__class__ is cpu.arrays.array_types[0]:
        backend, arrays = cpu, cpu.arrays
    else:
        on_device = is_device_array(array)
        backend = backend_of_array(array) or (ready_backend("cuda") if on_device else cpu)
        arrays = backend.arrays
        if array.__class__ is not arrays.array_types[0]:
            array = arrays.asarray(array)
    if array.dtype not in arrays.dtype_bits:
        if getattr(array.dtype, "isnative", True):
            name = f"{array.dtype.type.__module__}.{array.dtype.type.__name__}"
            raise TypeError(
                f"can't convert np.ndarray of type {name}. The only supported types are: "
                f"{_SUPPORTED}. Convert "
                "it with astype."
            )
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion "
            "between byte orders is "
            "currently not supported. Convert it: array.astype(array.dtype.newbyteorder('='))."
        )
    # Those of NumPy's kind of arrays, in bytes.
    _check_strides(getattr(array, "strides", ()), array.itemsize)
    made: Any = wrap(arrays.wrap_foreign(array), backend)
    return made  # type: ignore[no-any-return]


@lru_cache(1024)
def _check_strides(strides: tuple[int, ...], itemsize: int) -> None:
    """Raise an error for strides that tensors do not have. Raises the errors of `from_numpy`."""
    if strides and min(strides) < 0:
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative "
            "strides are not "
            "currently supported. (You can probably work around this by making a copy of your "
            "array with array.copy().)"
        )
    if any([stride % itemsize for stride in strides]):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. Copy the numpy "
            "array to reallocate the memory."
        )


def number_like(value: object, like: TensorBase) -> Tensor:
    """Return a Python number as a 0-d tensor of the dtype and backend of `like`. Raises
    RuntimeError if the dtype cannot hold it.
    """
    wanted = dtype_of_signature(like._signature)
    check_number(value, wanted)
    backend = like._device_backend
    return cast(
        "Tensor", wrap(backend.arrays.scalar(value, backend.arrays.native_dtypes[wanted]), backend)
    )


def is_host_array(data: Any) -> bool:
    """Return whether `data` is an array in host memory, and not a NumPy scalar."""
    if data.__class__ is ready_backend("cpu").arrays.array_types[0]:
        return True
    return (
        hasattr(data, "__array_interface__")
        and hasattr(data, "strides")
        and not _is_scalar_object(data)
    )


def is_device_array(data: Any) -> bool:
    """Return whether `data` is an array in the memory of a CUDA device, of any library."""
    return hasattr(data, "__cuda_array_interface__") and not isinstance(data, TensorBase)


def _is_scalar_object(data: object) -> bool:
    """Return whether `data` is a NumPy scalar: it has a dtype, and is a number, not an array."""
    return getattr(data, "shape", None) == () and not hasattr(data, "__setitem__")
