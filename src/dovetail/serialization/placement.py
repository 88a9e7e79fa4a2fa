"""Devices of loaded storages: `map_location` in all its forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import dovetail_aten as aten
from dovetail_aten import Tensor, TypedStorage, UntypedStorage
from dovetail_kernel import Device

from .checked_json import FormatError, shown

MapLocation: TypeAlias = str | Device | Mapping[str, Any] | Callable[[Any, str], Any] | None
MAP_LOCATION: TypeAlias = MapLocation
"""What `load` takes as its `map_location`."""


class DeviceError(FormatError):
    """Raised if the device from which a tensor was saved is not available."""

    remedy = "Pass map_location='cpu', or where else it should be, to dovetail.load."


class Placement:
    """Moves storages, as 1-dimensional tensors, to the requested device.

    Parameters
    ----------
    map_location : optional
        As in `load`.

    Raises
    ------
    TypeError
        If `map_location` has an unsupported type.
    """

    def __init__(self, map_location: MapLocation) -> None:
        self._function: Callable[[Any, str], Any] | None = None
        self._mapping: Mapping[str, Any] = {}
        self._device: Device | None = None
        if isinstance(map_location, str | Device):
            self._device = Device(map_location)
        elif isinstance(map_location, Mapping):
            self._mapping = map_location
        elif callable(map_location):
            self._function = map_location
        elif map_location is not None:
            raise TypeError(
                "map_location should be None, a device or its name, a dict of them by name, or a "
                f"function of a storage and a name, not {type(map_location).__name__}"
            )

    def moved(self, line: Tensor, saved: str) -> Tensor:
        """Return `line`, a tensor over a whole storage, on the requested device.

        Raises
        ------
        DeviceError
            If the requested device is the saved one, and it is not available.
        Exception
            Any exception of the caller's function.
        """
        wanted = self._device
        if self._function is not None:
            given = self._function(line.untyped_storage(), saved)
            if given is not None:
                return _shown(given, line)
        elif saved in self._mapping:
            wanted = Device(self._mapping[saved])
        if wanted is not None:
            moved: Tensor = line.to(wanted)
            return moved
        try:
            restored: Tensor = line.to(Device(saved))
        except (RuntimeError, AssertionError) as error:
            raise DeviceError(
                f"a tensor was saved from the device {shown(saved)}, which can't be had "
                f"here ({error})"
            ) from error
        return restored


def _shown(storage: object, line: Tensor) -> Tensor:
    """Return a line of the dtype of `line` that shows the storage that the caller gave for its."""
    if isinstance(storage, TypedStorage):
        storage = storage._untyped_storage
    if not isinstance(storage, UntypedStorage) or storage.nbytes() != line.nbytes:
        raise TypeError(
            f"the function map_location should return a storage of {line.nbytes} bytes, or None, "
            f"not {storage!r:.60}"
        )
    made: Tensor = aten.empty(0, dtype=line.dtype, device=storage.device)
    shape: Any = tuple(line.shape)
    return made.set_(storage, 0, shape)
