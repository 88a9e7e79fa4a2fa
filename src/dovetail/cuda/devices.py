"""The CUDA devices: their number, the current one, and their properties."""

from __future__ import annotations

from typing import Any

from dovetail_kernel import DeviceLike, PluginError, backend, has_backend, plugin_manager

from .plugin import index_of, is_available, of_plugin


def device_count() -> int:
    """Return the number of CUDA devices; 0 if CUDA is not available."""
    try:
        return plugin_manager.load_backend("cuda").device_count()
    except PluginError:
        return 0


def is_initialized() -> bool:
    """Return whether the plugin is loaded."""
    return has_backend("cuda") and backend("cuda").is_attached


def init() -> None:
    """Load the plugin, which otherwise happens on the first use of a device.

    Raises
    ------
    AssertionError
        If CUDA is not available, with the reason; this holds for all functions below that need a
        device.
    """
    of_plugin("devices")


def current_device() -> int:
    """Return the index of the current device, which ``device="cuda"`` refers to."""
    index: int = of_plugin("devices").current_device()
    return index


def set_device(device: DeviceLike | None) -> None:
    """Set the current device (an index, a string, a `device`) of this thread."""
    index = index_of(device)
    if index is not None and index >= 0:
        of_plugin("devices").set_device(index)


class device:
    """Context manager that selects the current device.

    Parameters
    ----------
    device
        An index, a string or a `dovetail.device`. None or a negative index changes nothing.
    """

    def __init__(self, device: DeviceLike | None) -> None:
        self.idx = index_of(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx is not None and self.idx >= 0:
            self.prev_idx = current_device()
            set_device(self.idx)

    def __exit__(self, *error: object) -> None:
        if self.prev_idx >= 0:
            set_device(self.prev_idx)


class device_of(device):
    """Context manager that selects the device of a tensor; a cpu tensor changes nothing."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if obj.is_cuda else None)


def synchronize(device: DeviceLike | None = None) -> None:
    """Wait until a device, by default the current one, has completed all work.

    Raises
    ------
    IndexError
        If a kernel detected an index out of range.
    """
    of_plugin("devices").synchronize(index_of(device))


def get_device_name(device: DeviceLike | None = None) -> str:
    """Return the product name of a device, by default the current one."""
    name: str = of_plugin("devices").device_name(index_of(device))
    return name


def get_device_capability(device: DeviceLike | None = None) -> tuple[int, int]:
    """Return the compute capability of a device, by default the current one: ``(8, 0)``."""
    properties = get_device_properties(device)
    return properties.major, properties.minor


def get_device_properties(device: DeviceLike | None = None) -> Any:
    """Return the properties of a device, by default the current one: ``name``, ``major``,
    ``minor``, ``total_memory``, ``multi_processor_count``, ``warp_size``, ….
    """
    return of_plugin("devices").device_properties(index_of(device))


def can_device_access_peer(device: DeviceLike | None, peer_device: object) -> bool:
    """Return whether one device can access the memory of another one."""
    can: bool = of_plugin("devices").can_access(index_of(device), index_of(peer_device))
    return can


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Return whether bfloat16 is supported: natively from compute capability 8.0, by conversion to
    float32 on older devices.
    """
    return is_available() and (including_emulation or get_device_capability() >= (8, 0))


def is_tf32_supported() -> bool:
    """Return whether the current device supports TF32 products of float32 matrices."""
    return is_available() and get_device_capability() >= (8, 0)
