"""Where modules lie that moved; see `dovetail_kernel.forward_old_places`."""

from __future__ import annotations

from typing import Final

MOVED: Final[dict[str, str]] = {}
"""Modules that plugins were told to import, by their old names."""

FORWARDED: Final[dict[str, str]] = {
    "transforms.mapping": "transforms.batching.mapping",
    "engine.graph_root": "engine.tasks.graph_root",
    "engine.graph_task": "engine.tasks.graph_task",
    "engine.ready_queue": "engine.tasks.ready_queue",
    "engine.backward": "engine.interface.backward",
    "engine.graph_functions": "engine.interface.graph_functions",
    "engine.inside_backward": "engine.interface.inside_backward",
    "engine.plan": "engine.interface.plan",
    "transforms.forward_ad": "forward_ad",
}
"""Modules that pickles name, by their old names."""
