"""Where pickles find what moved modules defined; see `dovetail_kernel.forward_old_places`."""

from __future__ import annotations

from typing import Final

OLD_PLACES: Final = {
    "": "table.places inspection.annotations inspection.spans inspection.tracing",
    "inspection.checks.opcheck": "inspection.opcheck",
    "inspection.queries.dumps": "inspection.dumps",
    "inspection.queries.kernel_handles": "inspection.kernel_handles",
    "table.updates.pending": "table.pending",
    "table.updates.transactions": "table.transactions",
}
