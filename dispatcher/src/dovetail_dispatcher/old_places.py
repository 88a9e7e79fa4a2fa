"""Where modules lie that moved; see `dovetail_kernel.forward_old_places`."""

from __future__ import annotations

from typing import Final

MOVED: Final[dict[str, str]] = {}
"""Modules that plugins were told to import, by their old names."""

FORWARDED: Final[dict[str, str]] = {
    "table.pending": "table.updates.pending",
    "table.transactions": "table.updates.transactions",
    "table.places": "table.source_locations",
    "inspection.opcheck": "inspection.checks.opcheck",
    "inspection.annotations": "inspection.traces.annotations",
    "inspection.spans": "inspection.traces.spans",
    "inspection.tracing": "inspection.traces.tracing",
    "inspection.dumps": "inspection.queries.dumps",
    "inspection.kernel_handles": "inspection.queries.kernel_handles",
}
"""Modules that pickles name, by their old names."""
