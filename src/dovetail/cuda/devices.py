"""Which CUDA devices there are, which one is in use, and what they can do."""

from __future__ import annotations

from typing import Any

from dovetail_kernel import DeviceLike, PluginError, backend, has_backend, plugin_manager

from .plugin import index_of, is_available, of_plugin


def device_count() -> int:
    """Return the number of CUDA devices; 0 where CUDA is not available."""
    try:
        return plugin_manager.load_backend("cuda").device_count()
    except PluginError:
        return 0


def is_initialized() -> bool:
    """Return whether the plugin is loaded, as the first use of a device does."""
    return has_backend("cuda") and backend("cuda").is_attached


def init() -> None:
    """Load the plugin, which the first use of a device does otherwise.

    Raises
    ------
    AssertionError
        Where CUDA is not available, with the reason; so do the functions below that need a device.
    """
    of_plugin("devices")


def current_device() -> int:
    """Return the index of the device on which ``device="cuda"`` makes tensors."""
    index: int = of_plugin("devices").current_device()
    return index


def set_device(device: DeviceLike | None) -> None:
    """Make ``device="cuda"`` mean another device (an index, a string, a `device`) in this
    thread.
    """
    index = index_of(device)
    if index is not None and index >= 0:
        of_plugin("devices").set_device(index)


class device:
    """A block in which ``device="cuda"`` means another device.

    Parameters
    ----------
    device
        An index, a string or a `dovetail.device`. None or a negative index change nothing.
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
    """A block in which ``device="cuda"`` means the device of a tensor; nothing for one of the
    cpu.
    """

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if obj.is_cuda else None)


def synchronize(device: DeviceLike | None = None) -> None:
    """Wait until a device, by default the current one, has completed all work.

    Raises
    ------
    IndexError
        If a kernel has found an index out of range.
    """
    of_plugin("devices").synchronize(index_of(device))


def get_device_name(device: DeviceLike | None = None) -> str:
    """Return what the maker calls a device, by default the current one."""
    name: str = of_plugin("devices").device_name(index_of(device))
    return name


def get_device_capability(device: DeviceLike | None = None) -> tuple[int, int]:
    """Return the compute capability of a device, by default the current one: ``(8, 0)``."""
    properties = get_device_properties(device)
    return properties.major, properties.minor


def get_device_properties(device: DeviceLike | None = None) -> Any:
    """Return what is known of a device, by default the current one: ``name``, ``major``,
    ``minor``, ``total_memory``, ``multi_processor_count``, ``warp_size``, ….
    """
    return of_plugin("devices").device_properties(index_of(device))


def can_device_access_peer(device: DeviceLike | None, peer_device: object) -> bool:
    """Return whether one device reaches the memory of another one."""
    can: bool = of_plugin("devices").can_access(index_of(device), index_of(peer_device))
    return can


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Return whether bfloat16 is computed: by the device from compute capability 8.0 on, by
    conversion to float32 on older ones.
    """
    return is_available() and (including_emulation or get_device_capability() >= (8, 0))


def is_tf32_supported() -> bool:
    """Return whether the current device multiplies float32 matrices in TF32 when asked to."""
    return is_available() and get_device_capability() >= (8, 0)
