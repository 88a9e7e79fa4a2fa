"""The authors' API: `Library`, `custom_op`, the ``register_*`` functions, batching rules, autocast,
and their checks.

May import `calls` and what lies below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dovetail_kernel import names_on_demand

if TYPE_CHECKING:
    from .autocast import (
        autocast_key,
        casting_kernel,
        get_autocast_dtype,
        is_autocast_available,
        is_autocast_enabled,
        is_eligible,
        set_autocast_dtype,
        set_autocast_enabled,
        without_autocast,
    )
    from .batching_rules import load_batching_rules
    from .supplied_kernels import supply_array_kernels

__all__ = [
    "autocast_key",
    "casting_kernel",
    "get_autocast_dtype",
    "is_autocast_available",
    "is_autocast_enabled",
    "is_eligible",
    "load_batching_rules",
    "set_autocast_dtype",
    "set_autocast_enabled",
    "supply_array_kernels",
    "without_autocast",
]

__getattr__ = names_on_demand(
    __name__,
    {
        "autocast": (
            "autocast_key",
            "casting_kernel",
            "get_autocast_dtype",
            "is_autocast_available",
            "is_autocast_enabled",
            "is_eligible",
            "set_autocast_dtype",
            "set_autocast_enabled",
            "without_autocast",
        ),
        "batching_rules": ("load_batching_rules",),
        "supplied_kernels": ("supply_array_kernels",),
    },
)
