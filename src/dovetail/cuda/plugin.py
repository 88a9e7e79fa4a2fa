"""The functions of the CUDA plugin, which is loaded when a device is needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from dovetail_kernel import Device, PluginError, plugin_manager


def why_unavailable() -> str | None:
    """Return the reason why CUDA is not available, with a remedy; None if it is available."""
    try:
        plugin_manager.load_backend("cuda")
    except PluginError as error:
        return str(error)
    return None


def is_available() -> bool:
    """Return whether CUDA is available: the plugin, CuPy, a driver and a device."""
    return why_unavailable() is None


def of_plugin(module: str) -> Any:
    """Return a module of the plugin.

    Raises
    ------
    AssertionError
        If CUDA is not available, with the reason.
    """
    try:
        plugin_manager.load_backend("cuda")
    except PluginError as reason:
        raise AssertionError(f"Torch not compiled with CUDA enabled: {reason}") from reason
    return import_module(f"dovetail_cuda.{module}")


def index_of(device: Any) -> int | None:
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
