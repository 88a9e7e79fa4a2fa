"""Memory of arrays: aligned, shared between processes, counted, and borrowed for one call.

May import `parallel`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dovetail_kernel import names_on_demand

if TYPE_CHECKING:
    from .malloc import TunedMalloc, tune_malloc

__all__ = ["TunedMalloc", "tune_malloc"]

__getattr__ = names_on_demand(
    __name__,
    {
        "malloc": (
            "TunedMalloc",
            "tune_malloc",
        ),
    },
)
