"""Tensors of the cpu in page-locked memory, which a CUDA device copies while the host goes on."""

from __future__ import annotations

from typing import Any

from dovetail_kernel import (
    Device,
    DeviceLike,
    PluginError,
    TensorBase,
    backend,
    has_backend,
    plugin_manager,
    wrap,
)

_ACCELERATOR = "cuda"


def check_pinning(wanted: bool | None) -> None:
    """Raise an error for ``pin_memory=True`` where no device could copy from such memory. Raises
    RuntimeError with the reason why there is none.
    """
    if wanted:
        _accelerator("pin_memory=True requires a CUDA or other accelerator backend; no pinned ")


def is_pinned(tensor: TensorBase, device: DeviceLike | None = None) -> bool:
    """Return whether the memory of a tensor is page-locked.

    Parameters
    ----------
    tensor
        A tensor on any device; False unless it is on the cpu.
    device
        The device that copies from the memory: a CUDA device (the default).
    """
    _check_device(device)
    if tensor._backend.name != "cpu" or not has_backend(_ACCELERATOR):
        return False
    found = backend(_ACCELERATOR)
    return found.is_attached and found.arrays.is_pinned(tensor.array)


def pin_memory(tensor: TensorBase, device: DeviceLike | None = None) -> Any:
    """Return a copy of a cpu tensor in page-locked memory, with the same order of strides; the
    tensor itself if its memory is already page-locked.

    Parameters
    ----------
    tensor
        On the cpu.
    device
        As for `is_pinned`.

    Raises
    ------
    RuntimeError
        If there is no CUDA device, or for a tensor that is not on the cpu.
    """
    _check_device(device)
    found = _accelerator("Cannot access accelerator device when none is available: no page-locked ")
    if tensor._backend.name != "cpu":
        raise RuntimeError(
            f"cannot pin '{tensor.type()}' only dense CPU tensors can be pinned. Copy it to the "  # type: ignore[attr-defined]
            "cpu: x.cpu()."
        )
    if found.arrays.is_pinned(tensor.array):
        return tensor
    made: Any = wrap(found.arrays.empty_pinned(tensor.array), tensor._backend)
    return made.copy_(tensor)


def pinned_if_possible(tensor: TensorBase) -> Any:
    """Return a new tensor in page-locked memory; without CUDA, return it unchanged. Raises the
    errors of `pin_memory`.
    """
    is_possible = has_backend(_ACCELERATOR) and backend(_ACCELERATOR).is_attached
    return pin_memory(tensor) if is_possible else tensor


def _accelerator(refusal: str) -> Any:
    try:
        return plugin_manager.attached_backend(_ACCELERATOR)
    except PluginError as reason:
        raise RuntimeError(
            f"{refusal}memory allocator is available on this system ({reason}). Leave it out."
        ) from reason


def _check_device(device: DeviceLike | None) -> None:
    if device is not None and Device(device).type != _ACCELERATOR:
        raise RuntimeError(
            f"Memory is pinned for CUDA devices, not for {Device(device)}. Leave device out."
        )
