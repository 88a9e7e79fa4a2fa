"""Tensors made of what a program already has: Python numbers, nested sequences, NumPy arrays, other
tensors.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import reduce
from math import isfinite
from typing import TYPE_CHECKING, Any, cast

from dovetail_dispatcher.interception.overrides import call_overrides, overriding
from dovetail_kernel import (
    BY_NAME,
    TensorBase,
    backend_of_array,
    complex128,
    dispatch_state,
    dtype,
    dtype_of_signature,
    float64,
    get_default_dtype,
    int64,
    promote_types,
    scalar_category,
    scalar_dtype,
    state,
    wrap,
)
from dovetail_kernel import bool as bool_
from dovetail_kernel.types.signature import NO_GRAD

from ..backend.devices import as_device, backend_for, ready_backend

if TYPE_CHECKING:
    from .tensor_class import Tensor

__all__ = [
    "as_dtype",
    "as_tensor",
    "asarray",
    "from_dlpack",
    "from_host",
    "from_numpy",
    "number_like",
    "tensor",
]

_PYTHON_DTYPES = {bool: bool_, int: int64, float: float64, complex: complex128}
_WIDEST = (bool_, int64, float64, complex128)
_SUPPORTED = (
    "float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, "
    "uint16, "
    "uint8, and bool"
)


def as_dtype(value: Any, function: str) -> dtype | None:
    """Return a dtype given as such or as a Python class of numbers; None stays None.

    Raises
    ------
    TypeError
        For anything else.
    """
    if value is None or value.__class__ is dtype:
        found: dtype | None = value
        return found
    if isinstance(value, type) and value in _PYTHON_DTYPES:
        return _PYTHON_DTYPES[value]
    raise TypeError(
        f"{function}(): argument 'dtype' must be dovetail.dtype, not {type(value).__name__}. Give "
        "one such as "
        "dovetail.float32."
    )


def tensor(
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Return a new tensor with a copy of `data`.

    Parameters
    ----------
    data
        A number, a nested sequence of numbers, a NumPy array or scalar, or a tensor.
    dtype
        Default: that of the array; for Python numbers bool, int64, the default dtype, or its
        complex.
    device
        Default: the default device.
    requires_grad
        Whether gradients are computed for it.
    pin_memory
        Not supported; must be False.

    Raises
    ------
    ValueError
        For sequences of unequal length, and integers beyond 64 bits.
    TypeError
        For data that is no number.
    RuntimeError
        For data of which no dtype can be inferred, or that overflows `dtype`.
    """
    if state() & ~NO_GRAD and dispatch_state().function_modes:
        options = {
            "dtype": dtype,
            "device": device,
            "requires_grad": requires_grad or None,
            "pin_memory": pin_memory or None,
        }
        return _overridden(tensor, data, options)
    refuse_pinning(pin_memory)
    wanted = as_dtype(dtype, "tensor")
    if isinstance(data, TensorBase):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use "
            "sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than "
            "dovetail.tensor(sourceTensor).",
            UserWarning,
            stacklevel=2,
        )
        source: Any = data
        made = source.detach().to(device=device, dtype=wanted, copy=True)
    else:
        made = _from_anything(data, wanted, device)
    if requires_grad:
        made.requires_grad = True
    result: Tensor = made
    return result


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """Return `data` as a tensor, sharing memory, and the graph of a tensor, where dtype and device
    allow it.

    Parameters
    ----------
    data, dtype, device
        As for `tensor`.
    """
    if state() & ~NO_GRAD and dispatch_state().function_modes:
        return _overridden(as_tensor, data, {"dtype": dtype, "device": device})
    wanted = as_dtype(dtype, "as_tensor")
    made: Any = data
    if _is_host_array(data):
        made = from_host(data).to(device=as_device(device), dtype=wanted)
    elif isinstance(data, TensorBase):
        made = made.to(device=device, dtype=wanted)
    else:
        made = _from_anything(data, wanted, device)
    result: Tensor = made
    return result


def _overridden(function: Any, data: Any, options: dict[str, Any]) -> Tensor:
    given = {name: value for name, value in options.items() if value is not None}
    _, overloaded = overriding((data,), {})
    result: Tensor = call_overrides(function, overloaded, (data,), given)
    return result


def asarray(
    obj: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return `obj` as a tensor.

    Parameters
    ----------
    obj
        As for `tensor`; or what `from_dlpack` takes.
    dtype, device
        As for `tensor`.
    copy
        True: always copy; False: never; None: only if needed.
    requires_grad
        Whether gradients are computed for the result; False detaches it.

    Raises
    ------
    ValueError
        If `copy` is False and a copy is needed.
    """
    if hasattr(obj, "__dlpack__") and not isinstance(obj, TensorBase) and not _is_host_array(obj):
        obj = from_dlpack(obj)
    made: Any = as_tensor(obj, dtype, device)
    shared = isinstance(obj, TensorBase) and made is obj
    if not shared and _is_host_array(obj):
        shared = (
            ready_backend("cpu").arrays.may_overlap(obj, made.array)
            if made.is_cpu and obj.size
            else True
        )
    if copy is False and not shared:
        raise ValueError(
            "can't alias tensor with copy=False: the data, dtype or device need a copy. Give "
            "copy=None."
        )
    if copy and shared:
        made = made.clone()
    if made.requires_grad and not requires_grad:
        made = made.detach()
    elif requires_grad:
        made.requires_grad = True
    result: Tensor = made
    return result


def from_numpy(ndarray: Any) -> Tensor:
    """Return a tensor that shares the memory of a NumPy array.

    Raises
    ------
    TypeError
        If `ndarray` is no array, or its dtype has no counterpart.
    ValueError
        For negative strides or a foreign byte order.
    """
    if not _is_host_array(ndarray):
        cls = type(ndarray)
        name = cls.__name__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__name__}"
        raise TypeError(
            f"expected np.ndarray (got {name}). Make a tensor of it: dovetail.tensor(...)."
        )
    return from_host(ndarray)


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """Return a tensor that shares the memory of another library's array.

    Parameters
    ----------
    ext_tensor
        An object with ``__dlpack__`` and ``__dlpack_device__``, or a DLPack capsule.
    device
        Where the tensor shall be; default: where the array is.
    copy
        True: always copy; False: never; None: if `device` needs it.

    Raises
    ------
    RuntimeError
        For anything that is neither array nor unconsumed capsule, and a kind of memory that no
        backend has.
    ValueError
        If `copy` is False and a copy is needed, or for negative strides.
    BufferError
        If either side cannot exchange the array: one that requires grad, or of a dtype that is
        missing here.
    """
    from .dlpack import import_array  # reads C structures, which few programs need

    return cast("Tensor", import_array(ext_tensor, device, copy))


def from_host(array: Any) -> Tensor:
    """Return a tensor around a NumPy array (or another backend's own), sharing memory. Raises as
    `from_numpy`.
    """
    cpu = ready_backend("cpu")  # first: another backend's arrays may be NumPy's too
    backend = backend_of_array(array) or cpu
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
    if any(stride < 0 for stride in array.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative "
            "strides are not "
            "currently supported. (You can probably work around this by making a copy of your "
            "array with array.copy().)"
        )
    return cast("Tensor", wrap(array.view(), backend))


def number_like(value: Any, like: TensorBase) -> Tensor:
    """Return a Python number as a 0-d tensor of the dtype and backend of `like`.

    Raises
    ------
    RuntimeError
        If the dtype cannot hold it.
    """
    wanted = dtype_of_signature(like._signature)
    check_number(value, wanted)
    backend = like._device_backend
    return cast(
        "Tensor", wrap(backend.arrays.scalar(value, backend.arrays.native_dtypes[wanted]), backend)
    )


def check_number(value: Any, wanted: dtype) -> None:
    """Refuse a number that `wanted` cannot hold.

    Raises
    ------
    RuntimeError
        "value cannot be converted to type int8 without overflow".
    """
    kind = scalar_category(value)
    fits = kind <= wanted.category or wanted.category == 0
    if kind == 3 and wanted.category != 3:
        fits = value.imag == 0
        value = value.real
    if wanted.category == 1:
        low, high = integer_range(wanted)
        # As in PyTorch, a negative number wraps in an unsigned dtype.
        fits = isfinite(value) and (-high if not wanted.is_signed else low) <= value <= high
    elif wanted.category == 2:
        fits = kind < 3 or fits
    if not fits:
        raise RuntimeError(
            f"value cannot be converted to type {wanted.name} without overflow: {value}. Choose a "
            "wider dtype."
        )


def integer_range(wanted: dtype) -> tuple[int, int]:
    """Return the smallest and largest number of an integer dtype."""
    bits = 8 * wanted.itemsize - wanted.is_signed
    return -(1 << bits) if wanted.is_signed else 0, (1 << bits) - 1


def refuse_pinning(pin_memory: bool | None) -> None:
    """Refuse ``pin_memory=True``.

    Raises
    ------
    RuntimeError
        If it is asked for.
    """
    if pin_memory:
        raise RuntimeError(
            "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory "
            "allocator is available on "
            "this system. Leave it out."
        )


def _is_host_array(data: Any) -> bool:
    return (
        hasattr(data, "__array_interface__")
        and hasattr(data, "strides")
        and not _is_scalar_object(data)
    )


def _is_scalar_object(data: Any) -> bool:
    """Return whether `data` is a NumPy scalar: it has a dtype, and is a number, not an array."""
    return getattr(data, "shape", None) == () and not hasattr(data, "__setitem__")


def _from_anything(data: Any, wanted: dtype | None, device: Any) -> Any:
    place = as_device(device)
    backend = backend_for(place)
    host = ready_backend("cpu").arrays
    if _is_host_array(data) or backend_of_array(data) is not None:
        array = from_host(data)._backend.arrays.to_host(data)
        native = host.native_dtypes[wanted or dtype_of_signature(host.dtype_bits[array.dtype])]
        return wrap(_moved(host.cast(array, native), backend, place.index), backend)
    shape = _shape_of(data)
    if shape and shape[0] and (_is_host_array(data[0]) or _is_host_array(data[-1])):
        warnings.warn(
            "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider "
            "converting the list "
            "to a single numpy.ndarray with numpy.array() before converting to a tensor.",
            UserWarning,
            stacklevel=3,
        )
    numbers: list[Any] = []
    _flatten(data, shape, 0, numbers)
    found, category = _common_dtype(numbers)
    wanted = wanted or found
    if category in (1, 2):
        _check_range(numbers, wanted, category)
    elif wanted.category < 3 and category == 3 and wanted.category:
        raise TypeError(
            "must be real number, not complex: a complex number does not fit into a real dtype. "
            "Take .real."
        )
    array = host.asarray(numbers, host.native_dtypes[_WIDEST[category]])
    if wanted is not _WIDEST[category]:
        array = host.cast(array, host.native_dtypes[wanted])
    return wrap(_moved(array.reshape(shape), backend, place.index), backend)


def _moved(array: Any, backend: Any, index: int | None) -> Any:
    if backend.name == "cpu":
        return array
    if index is None:
        return backend.arrays.asarray(array)
    with backend.arrays.on_device(index):
        return backend.arrays.asarray(array)


def _is_sequence(data: Any) -> bool:
    cls = data.__class__
    return (
        cls is list
        or cls is tuple
        or (isinstance(data, Sequence) and not isinstance(data, str | bytes))
    )


def _shape_of(data: Any) -> tuple[int, ...]:
    """Return the shape that the first items of a nested sequence tell."""
    if isinstance(data, str | bytes):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'. Give numbers.")
    shape = []
    while _is_sequence(data):
        shape.append(len(data))
        if not shape[-1]:
            break
        data = data[0]
        if isinstance(data, str):
            raise ValueError(f"too many dimensions '{type(data).__name__}'. Give numbers.")
    if _is_host_array(data):
        shape += data.shape
    return tuple(shape)


def _flatten(data: Any, shape: tuple[int, ...], dim: int, numbers: list[Any]) -> None:
    """Append the numbers of a nested sequence to `numbers`, and check that every level has its
    length.
    """
    if dim == len(shape):
        numbers.append(data)
        return
    try:
        length = len(data)
    except TypeError:
        raise TypeError(
            f"not a sequence: {data!r} stands where a sequence of length {shape[dim]} should be"
        ) from None
    if length != shape[dim]:
        raise ValueError(f"expected sequence of length {shape[dim]} at dim {dim} (got {length})")
    if dim == len(shape) - 1:
        numbers.extend(data)
        return
    for item in data:
        _flatten(item, shape, dim + 1, numbers)


def _common_dtype(numbers: list[Any]) -> tuple[dtype, int]:
    """Return the dtype of flat `numbers`, and their category; anything but Python numbers is
    replaced in the list.
    """
    if not numbers:
        return get_default_dtype(), 2
    kinds = set(map(type, numbers))
    if not kinds <= _PYTHON_DTYPES.keys():
        found = [_as_python(numbers, position) for position in range(len(numbers))]
        common = reduce(promote_types, found)
        return common, max(each.category for each in found)
    category = max(_PYTHON_DTYPES[kind].category for kind in kinds)
    return scalar_dtype(category), category


def _as_python(numbers: list[Any], position: int) -> dtype:
    """Put a Python number in place of one item, and return the dtype that the item had."""
    item = numbers[position]
    if isinstance(item, TensorBase):
        if item.numel() != 1:
            raise ValueError(
                "only one element tensors can be converted to Python scalars. Join them: "
                "dovetail.stack(...)."
            )
        numbers[position] = item.item()  # type: ignore[attr-defined]
        return item.dtype
    for kind, native in _PYTHON_DTYPES.items():
        if type(item) is kind:
            return scalar_dtype(native.category)
    name = getattr(getattr(item, "dtype", None), "name", "")
    if name in BY_NAME:
        numbers[position] = item.item()
        return BY_NAME[name]
    if isinstance(item, bool | int | float | complex):
        return scalar_dtype(scalar_category(item))
    if _is_sequence(item) and not isinstance(item, str):
        raise TypeError(
            f"'{type(item).__name__}' object cannot be interpreted as an integer: it stands among "
            "numbers"
        )
    if isinstance(item, str):
        raise TypeError("new(): invalid data type 'str'. Give numbers.")
    raise RuntimeError(f"Could not infer dtype of {type(item).__name__}. Give numbers.")


def _check_range(numbers: list[Any], wanted: dtype, category: int) -> None:
    """Refuse integers beyond 64 bits, and numbers that an integer dtype cannot hold."""
    if not numbers or (category == 2 and wanted.category != 1):
        return
    low, high = min(numbers), max(numbers)
    if category == 1 and (low < -(1 << 63) or high >= 1 << 63):
        raise ValueError(
            f"Overflow when unpacking long long: {high if high >= 1 << 63 else low} does not fit "
            "into int64. "
            "Give floats."
        )
    if wanted.category == 1:
        for number in (low, high) if category == 1 else numbers:
            check_number(number, wanted)
