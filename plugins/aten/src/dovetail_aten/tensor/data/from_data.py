"""Tensors made of what a program already has: Python numbers, nested sequences, NumPy arrays, other
tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from dovetail_dispatcher.interception import call_overrides, overriding
from dovetail_kernel import (
    TensorBase,
    backend_of_array,
    complex128,
    dispatch_state,
    dtype,
    dtype_of_signature,
    float64,
    int64,
    scalar_dtype,
    state,
    uint64,
    warn_user,
    warn_user_once,
    wrap,
)
from dovetail_kernel import bool as bool_
from dovetail_kernel.devices import innermost
from dovetail_kernel.short_tracebacks import shorten_traceback
from dovetail_kernel.signature import NO_GRAD
from dovetail_kernel.types import FLOAT

from ...backend.devices import as_device, backend_for, ready_backend
from ...backend.pinned_memory import check_pinning
from ...calling.compiled_entries import data_entry
from ...typing import Tensor
from .dtype_arguments import as_dtype
from .host_arrays import from_host, is_device_array, is_host_array, share_host
from .nested_sequences import check_numbers, common_dtype, flatten, shape_of_data
from .storage_views import vector_of_storage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dovetail_kernel import Backend, DeviceLike
    from dovetail_kernel import dtype as DType

    from ...typing import Array

_WIDEST = (bool_, int64, float64, complex128)
"""The dtypes that hold all Python numbers of a category."""

_EXACT = {int: int64, bool: bool_}
"""The dtypes that numbers become which are the same in every program."""


@data_entry
def tensor(
    data: Any,
    *,
    dtype: DType | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Return a new tensor with a copy of `data`.

    Parameters
    ----------
    data
        A number, a nested sequence of numbers, a NumPy array or scalar, an object with
        ``__array__`` (of pandas), or a tensor.
    dtype
        Default: the dtype of the array; for Python numbers bool, int64, the default dtype, or its
        complex counterpart.
    device
        Default: the default device.
    requires_grad
        Whether the tensor requires grad.
    pin_memory
        Whether to use page-locked memory, which requires a CUDA device.

    Raises
    ------
    ValueError
        For sequences of unequal length, and integers beyond 64 bits.
    TypeError
        For data that is not a number.
    RuntimeError
        If no dtype can be inferred, or if data overflow `dtype`; for ``pin_memory`` without CUDA,
        or with another device than the cpu.
    """
    if state() & ~NO_GRAD and dispatch_state().function_modes:
        options = {
            "dtype": dtype,
            "device": device,
            "requires_grad": requires_grad or None,
            "pin_memory": pin_memory or None,
        }
        return _overridden(tensor, data, options)
    check_pinning(pin_memory)
    wanted = as_dtype(dtype, "tensor")
    if isinstance(data, TensorBase):
        warn_user(
            "To copy construct from a tensor, it is recommended to use "
            "sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than "
            "dovetail.tensor(sourceTensor)."
        )
        source: Any = data
        made = source.detach().to(device=device, dtype=wanted, copy=True)
    else:
        try:
            made = _from_anything(data, wanted, device)
        except Exception as error:
            shorten_traceback(error)
            raise
    if pin_memory:
        made = made.pin_memory()
    if requires_grad:
        made.requires_grad = requires_grad
    result: Tensor = made
    return result


@data_entry
def as_tensor(data: object, dtype: Any = None, device: Any = None) -> Tensor:
    """Return `data` as a tensor, sharing memory and the autograd graph if dtype and device allow
    it.

    Parameters
    ----------
    data, dtype, device
        As for `tensor`.
    """
    if state() & ~NO_GRAD and dispatch_state().function_modes:
        return _overridden(as_tensor, data, {"dtype": dtype, "device": device})
    wanted = as_dtype(dtype, "as_tensor")
    made: Any = data
    if is_host_array(data):
        made = share_host(data)
        stays = device is None and innermost() is None and made.is_cpu
        if stays and (wanted is None or wanted is made.dtype):
            return made  # type: ignore[no-any-return]
        made = made.to(device=as_device(device), dtype=wanted)
    elif isinstance(data, TensorBase):
        made = made.to(device=device, dtype=wanted)
    elif hasattr(data, "__dlpack__") and not hasattr(data, "__array__"):
        made = from_dlpack(data)
        made = made.to(device=device, dtype=wanted)
    elif is_device_array(data):
        made = from_host(data).to(device=device, dtype=wanted)
    else:
        made = _from_anything(data, wanted, device)
    result: Tensor = made
    return result


@data_entry
def from_numpy(ndarray: object) -> Tensor:
    """Return a tensor that shares the memory of a NumPy array.

    Raises
    ------
    TypeError
        If `ndarray` is not an array, or its dtype has no counterpart.
    ValueError
        For negative strides or a foreign byte order.
    """
    if ndarray.__class__ is not ready_backend("cpu").arrays.array_types[0] and not is_host_array(
        ndarray
    ):
        cls = type(ndarray)
        name = cls.__name__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__name__}"
        raise TypeError(
            f"expected np.ndarray (got {name}). Make a tensor of it: dovetail.tensor(...)."
        )
    return share_host(ndarray)


def from_dlpack(
    ext_tensor: object, *, device: DeviceLike | None = None, copy: bool | None = None
) -> Tensor:
    """Return a tensor that shares the memory of another library's array.

    Parameters
    ----------
    ext_tensor
        An object with ``__dlpack__`` and ``__dlpack_device__``, or a DLPack capsule.
    device
        Device of the tensor; default: the device of the array.
    copy
        True: always copy; False: never; None: if `device` requires it.

    Raises
    ------
    RuntimeError
        For anything but an array or an unconsumed capsule, or for a kind of memory without a
        backend.
    ValueError
        If `copy` is False and a copy is necessary, or for negative strides.
    BufferError
        If the array cannot be exchanged, because it requires grad or has an unsupported dtype.
    """
    from .dlpack import import_array  # reads C structures, which few programs need

    return cast("Tensor", import_array(ext_tensor, device, copy))


def _from_numbers(data: Sequence[object], wanted: dtype | None) -> Any:
    """Return a number, or a list of floats, ints or bools, as a tensor on the cpu; None for what
    has to be looked at more closely.
    """
    if data.__class__ is list:
        kinds = set(map(type, data))
        if len(kinds) != 1:
            return None
        kind = kinds.pop()
    else:
        kind = data.__class__
    found = scalar_dtype(FLOAT) if kind is float else _EXACT.get(kind)
    if found is None or (wanted is not None and wanted is not found):
        return None
    cpu = ready_backend("cpu")
    try:
        array = cpu.arrays.asarray(data, cpu.arrays.native_dtypes[_WIDEST[found.category]])
    except OverflowError:
        return None
    if found.category == FLOAT and found is not float64:
        array = cpu.arrays.cast(array, cpu.arrays.native_dtypes[found])
    return wrap(array, cpu)


def _from_anything(data: Any, wanted: dtype | None, device: DeviceLike | None) -> Any:
    if getattr(device, "type", device) == "cpu" or (device is None and innermost() is None):
        made = _from_numbers(data, wanted)
        if made is not None:
            return made
    if is_device_array(data):
        there: Any = from_host(data)
        return there.to(device=device, dtype=wanted, copy=True)
    shown = vector_of_storage(data, wanted)
    if shown is not None:
        return shown.to(device=device)
    place = as_device(device)
    backend = backend_for(place)
    host = ready_backend("cpu").arrays
    if is_host_array(data) or backend_of_array(data) is not None:
        array = from_host(data)._backend.arrays.to_host(data)
        native = host.native_dtypes[wanted or dtype_of_signature(host.dtype_bits[array.dtype])]
        return wrap(_moved(host.cast(array, native), backend, place.index), backend)
    if (
        not isinstance(data, list | tuple)
        and hasattr(data, "__array__")
        and hasattr(data, "__len__")
    ):
        return _from_anything(data.__array__(), wanted, device)  # a table's column, or the table
    if hasattr(data, "__dlpack__"):
        return from_dlpack(data).to(device=device, dtype=wanted, copy=True)
    shape = shape_of_data(data)
    if shape and shape[0] and (is_host_array(data[0]) or is_host_array(data[-1])):
        warn_user_once(
            "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider "
            "converting the list "
            "to a single numpy.ndarray with numpy.array() before converting to a tensor."
        )
        stacked = _stacked(data, wanted)
        if stacked is not None:
            return wrap(_moved(stacked.reshape(shape), backend, place.index), backend)
    numbers: list[Any] = []
    flatten(data, shape, 0, numbers)
    found, category = common_dtype(numbers, wanted)
    wanted = wanted or found
    widest = _WIDEST[category]
    if category in (1, 2):
        if check_numbers(numbers, wanted, category):
            widest = uint64 if wanted is uint64 else float64
    elif wanted.category < 3 and category == 3 and wanted.category:
        raise TypeError(
            "must be real number, not complex: a complex number does not fit into a real dtype. "
            "Take .real."
        )
    array = host.asarray(numbers, host.native_dtypes[widest])
    if wanted is not widest:
        array = host.cast(array, host.native_dtypes[wanted])
    return wrap(_moved(array.reshape(shape), backend, place.index), backend)


def _stacked(data: Sequence[Any], wanted: dtype | None) -> Any:
    """Return NumPy arrays of one shape and dtype, which is the one `wanted`, as an array; None for
    others, whose elements are looked at one by one.
    """
    host: Any = ready_backend("cpu").arrays
    first: Any = data[0]
    cls, native = host.array_types[0], first.dtype if is_host_array(first) else None
    if native not in host.dtype_bits:
        return None
    if wanted is not None and native != host.native_dtypes[wanted]:
        return None
    if any(
        [
            each.__class__ is not cls or each.dtype != native or each.shape != first.shape
            for each in data
        ]
    ):
        return None
    return host.contiguous(host.xp.stack(data))


def _moved(array: Array, backend: Backend, index: int | None) -> Any:
    if backend.name == "cpu":
        return array
    if index is None:
        return backend.arrays.asarray(array)
    with backend.arrays.on_device(index):
        return backend.arrays.asarray(array)


def _overridden(function: Any, data: object, options: Mapping[str, object]) -> Tensor:
    given = {name: value for name, value in options.items() if value is not None}
    _, overloaded = overriding((data,), {})
    result: Tensor = call_overrides(function, overloaded, (data,), given)
    return result
