"""Copies between devices, and numbers that the host waits for."""

from __future__ import annotations

from typing import Any

from dovetail_aten.families import Shapes
from dovetail_aten.typing import Array

from ..device_guard import between_devices
from ..waiting import waiting


class DeviceShapes(Shapes):
    """Copies, and elements as numbers."""

    @between_devices
    def copy_(self, x: Array, src: Array, non_blocking: bool = False) -> Any:
        """Return `src`, which may be on another device: what copy_ writes."""
        return Shapes.copy_(self, x, src, non_blocking)

    def local_scalar_dense(self, x: Array) -> Any:
        """Return the one element as a Python number. Raises what kernels have reported."""
        with waiting("item()"):
            return Shapes.local_scalar_dense(self, x)
