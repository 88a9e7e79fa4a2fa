"""CUDA devices, as ``torch.cuda``: asking costs nothing where the plugin is not installed."""

from __future__ import annotations

from dovetail_kernel import PluginError, plugin_manager

__all__ = ["device_count", "is_available", "why_unavailable"]


def is_available() -> bool:
    """Return whether tensors can be made on a CUDA device: the plugin, CuPy, a driver and a device are there."""
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
