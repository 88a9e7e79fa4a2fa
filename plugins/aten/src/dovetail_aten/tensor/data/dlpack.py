"""Tensors to and from other array libraries through DLPack, without a copy."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from dovetail_kernel import Backend, Device, DLDeviceType, TensorBase, all_backends, wrap
from dovetail_kernel.sockets import EXCHANGE_API
from dovetail_kernel.tensor import DlpackSource

from ...backend.devices import as_device, ready_backend
from .host_arrays import from_host

_PROVIDERS: Final = {
    DLDeviceType.kDLCPU: "cpu",
    DLDeviceType.kDLCUDAHost: "cpu",
    DLDeviceType.kDLCUDA: "cuda",
    DLDeviceType.kDLCUDAManaged: "cuda",
}
"""The backends to load for a kind of memory that no backend in use has."""


def import_array(ext_tensor: Any, device: Any, copy: bool | None) -> Any:
    """Return a tensor as `dovetail.from_dlpack` does."""
    source = ext_tensor if hasattr(ext_tensor, "__dlpack__") else DlpackSource(ext_tensor)
    backend = _backend_for(source.__dlpack_device__()[0])
    array = backend.arrays.from_dlpack(source)
    if any([stride < 0 for stride in array.strides]):
        raise ValueError(
            "At least one stride of the given array is negative, and tensors with negative "
            "strides are not currently "
            "supported. Make a copy of the array first."
        )
    made: Any = wrap(array, backend)
    if device is not None and as_device(device).type != backend.name:
        if copy is False:
            raise ValueError(
                f"cannot move (i.e. copy=False) tensor from {made.device} to {device} without "
                "copying."
            )
        return made.to(as_device(device))
    return made.clone() if copy else made


def dlpack_device(tensor: TensorBase) -> tuple[DLDeviceType, int]:
    """Return the DLPack device type and index of the memory of `tensor`. Raises the errors of
    ``Tensor.__dlpack_device__``.
    """
    types = tensor._backend.arrays.dlpack_types
    if not types:
        raise ValueError(
            f"Unknown device type {tensor.device.type} for Dlpack. Move the tensor: x.cpu()."
        )
    return DLDeviceType(types[0]), tensor.device.index or 0


def to_capsule(
    tensor: Any,
    stream: Any,
    max_version: tuple[int, int] | None,
    dl_device: tuple[int, int] | None,
    copy: bool | None,
) -> Any:
    """Return a capsule as ``Tensor.__dlpack__`` does."""
    if tensor.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if stream is not None and not isinstance(stream, int):
        raise TypeError("stream must be ``int`` or ``none``")
    if tensor.is_cpu and stream not in (None, -1):
        raise AssertionError("stream should be None on cpu.")
    if dl_device is not None and tuple(dl_device) != dlpack_device(tensor):
        device = _device_for(dl_device)
        if copy is False:
            raise ValueError(
                f"cannot move (i.e. copy=False) tensor from {tensor.device} to {device} without "
                "copying."
            )
        tensor = tensor.to(device)
    elif copy:
        tensor = tensor.clone()
    arrays = tensor._backend.arrays
    if not arrays.dlpack_types:
        raise BufferError(
            f"Cannot pack tensors on {tensor.device}. Move the tensor first: x.cpu()."
        )
    return arrays.to_dlpack(tensor.array, stream, max_version)


def _device_for(dl_device: tuple[int, int]) -> Device:
    backend = _backend_for(dl_device[0])
    return Device(backend.name) if backend.name == "cpu" else Device(backend.name, dl_device[1])


def _backend_for(kind: int) -> Backend:
    """Return the backend for a DLPack device type: one in use, else the one that is known to have
    such memory.
    """
    for each in all_backends():
        if each.is_attached and kind in each.arrays.dlpack_types:
            return each
    name = next(iter([name for known, name in _PROVIDERS.items() if known == kind]), None)
    if name is None:
        raise RuntimeError(
            f"Unsupported device_type: {kind}: no backend in use has memory of this DLPack kind. "
            "Copy the array to "
            "host memory first."
        )
    return ready_backend(name)


@cache
def exchange_capsule() -> Any:
    """Return the capsule of DLPack's C functions, which other libraries find at the class. Raises
    AttributeError without compiled code.
    """
    make = EXCHANGE_API.plug
    if make is None:
        raise AttributeError(
            "type object 'Tensor' has no attribute '__dlpack_c_exchange_api__' without compiled "
            "code. Install dovetail-native, or use __dlpack__."
        )
    return make(
        from_host,
        lambda capsule: import_array(capsule, None, None),
        lambda tensor: tensor.__dlpack__(stream=-1, max_version=(1, 0)),
        lambda kind, index: _backend_for(kind).arrays.current_stream(index),
    )
