"""Answers about operators and calls: `explain`, `trace`, dumps of the table, `opcheck`.

May import every other room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dovetail_kernel import names_on_demand

if TYPE_CHECKING:
    from .traces.tracing import record_node

__all__ = ["record_node"]

__getattr__ = names_on_demand(
    __name__,
    {
        "traces.tracing": ("record_node",),
    },
)
