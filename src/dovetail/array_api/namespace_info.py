"""Inspection of the namespace: ``__array_namespace_info__``."""

from __future__ import annotations

from typing import Any

from dovetail_aten.backends import devices
from dovetail_kernel import Device, DeviceLike, dtype, get_default_dtype, int64

from .data_types import names_of_kinds
from .promotion import default_complex


class NamespaceInfo:
    """Capabilities, devices and dtypes of the namespace."""

    def capabilities(self) -> dict[str, Any]:
        """Return the capabilities: boolean indexing, data-dependent shapes, maximum number of
        axes.
        """
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Device:
        """Return the device of new arrays."""
        return Device("cpu")

    def default_dtypes(self, *, device: DeviceLike | None = None) -> dict[str, dtype]:
        """Return the dtypes of new arrays, by kind."""
        return {
            "real floating": get_default_dtype(),
            "complex floating": default_complex(),
            "integral": int64,
            "indexing": int64,
        }

    def dtypes(self, *, device: DeviceLike | None = None, kind: Any = None) -> dict[str, dtype]:
        """Return the dtypes of the standard of a kind, or of a tuple of kinds."""
        return names_of_kinds(kind)

    def devices(self) -> list[Device]:
        """Return the available devices."""
        return [
            Device(each.name if each.name == "cpu" else f"{each.name}:{index}")
            for each in devices()
            if each.name != "meta"
            for index in range(each.count)
        ]
