"""Devices and the table of backends that stand behind them.

May import `types`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..on_demand import names_on_demand
from .backends import installed_device_types, is_device_type
from .default_device import STACK, chosen_devices, innermost
from .known_devices import KNOWN_DEVICES
from .lowering import PlanFacts

if TYPE_CHECKING:
    from .overlap import Placement, share_bytes

__all__ = [
    "KNOWN_DEVICES",
    "STACK",
    "Placement",
    "PlanFacts",
    "chosen_devices",
    "innermost",
    "installed_device_types",
    "is_device_type",
    "share_bytes",
]

__getattr__ = names_on_demand(
    __name__,
    {
        "overlap": (
            "Placement",
            "share_bytes",
        ),
    },
)
