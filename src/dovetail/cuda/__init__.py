"""CUDA devices, as ``torch.cuda``: asking costs nothing where the plugin is not installed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dovetail_aten import default_generator
from dovetail_kernel import Device, PluginError, backend, plugin_manager

from ..absent_names import names_of as _names_of

__all__ = [
    "current_device",
    "device_count",
    "empty_cache",
    "get_device_name",
    "is_available",
    "manual_seed",
    "manual_seed_all",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "set_device",
    "synchronize",
    "why_unavailable",
]


def is_available() -> bool:
    """Return whether tensors can be made on a CUDA device: the plugin, CuPy, a driver and a device
    are there.
    """
    return why_unavailable() is None


def why_unavailable() -> str | None:
    """Return why there is no CUDA here and what to do about it; None if there is."""
    try:
        plugin_manager.load_backend("cuda")
    except PluginError as error:
        return str(error)
    return None


def device_count() -> int:
    """Return the number of CUDA devices; 0 where CUDA is not available."""
    try:
        return plugin_manager.load_backend("cuda").device_count()
    except PluginError:
        return 0


def current_device() -> int:
    """Return the index of the device on which ``device="cuda"`` makes tensors.

    Raises
    ------
    AssertionError
        Where CUDA is not available, with the reason; so do the functions below that need a device.
    """
    index: int = _devices().current_device()
    return index


def set_device(device: Any) -> None:
    """Make ``device="cuda"`` mean another device (an index, a string, a `device`) in this
    thread.
    """
    index = _index(device)
    if index is not None:
        _devices().set_device(index)


def synchronize(device: Any = None) -> None:
    """Wait until a device, by default the current one, has done all that was asked of it."""
    _devices().synchronize(_index(device))


def get_device_name(device: Any = None) -> str:
    """Return what the maker calls a device, by default the current one."""
    name: str = _devices().device_name(_index(device))
    return name


def memory_allocated(device: Any = None) -> int:
    """Return the bytes that live tensors take on a device, by default the current one; 0 where
    there is no CUDA.
    """
    if not is_available():
        return 0
    used: int = _devices().memory_statistics(_index(device)).allocated_bytes
    return used


def memory_reserved(device: Any = None) -> int:
    """Return the bytes that CuPy's pool has of a device, by default the current one: those of live
    tensors, and what it keeps for later ones. 0 where there is no CUDA.
    """
    if not is_available():
        return 0
    reserved: int = _devices().memory_statistics(_index(device)).reserved_bytes
    return reserved


def memory_stats(device: Any = None) -> dict[str, int]:
    """Return what is known of the memory of a device, under PyTorch's names; empty where there is
    no CUDA. CuPy's pool tells of no peak and counts no allocations.
    """
    if not is_available():
        return {}
    return {
        "allocated_bytes.all.current": memory_allocated(device),
        "reserved_bytes.all.current": memory_reserved(device),
    }


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Return the bytes that are free on a device, by default the current one, and all there are,
    as the driver says.
    """
    found: tuple[int, int] = _devices().memory_info(_index(device))
    return found


def empty_cache() -> None:
    """Give memory that no tensor needs back to the driver; nothing happens where there is no
    CUDA.
    """
    if is_available():
        _devices().empty_cache()


def manual_seed(seed: int) -> None:
    """Start the generator of the CUDA devices again from `seed`; it is kept where there is no CUDA
    yet.
    """
    default_generator(backend("cuda")).manual_seed(seed)


manual_seed_all = manual_seed


def _devices() -> Any:
    """Return the functions of the plugin.

    Raises
    ------
    AssertionError
        Where CUDA is not available.
    """
    try:
        plugin_manager.load_backend("cuda")
    except PluginError as reason:
        raise AssertionError(f"Torch not compiled with CUDA enabled: {reason}") from reason
    return import_module("dovetail_cuda.devices")


def _index(device: Any) -> int | None:
    """Return the index of a device given as such, as a string or as an index; None for the current
    one.

    Raises
    ------
    ValueError
        For a device that is not a CUDA device.
    """
    if device is None or isinstance(device, int):
        return device
    found = Device(device)
    if found.type != "cuda":
        raise ValueError(
            f"Expected a cuda device, but got: {found}. Give 'cuda', 'cuda:1' or an index."
        )
    return found.index


if not TYPE_CHECKING:  # it needs the operators' autocast, which few programs do
    _NUMBERS = "BFloat16 Bool Byte Char Double Float Half Int Long Short"
    _TYPES = {f"{number}Tensor": f"{__name__}.legacy_constructors" for number in _NUMBERS.split()}
    __getattr__ = _names_of(__name__, ("amp",), _TYPES)
