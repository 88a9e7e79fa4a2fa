"""Where pickles find what moved modules defined; see `dovetail_kernel.forward_old_places`."""

from __future__ import annotations

from typing import Final

OLD_PLACES: Final = {
    "": "engine.graph_functions engine.plan",
    "engine.interface.backward": "engine.backward",
    "engine.interface.inside_backward": "engine.inside_backward",
    "engine.tasks.graph_root": "engine.graph_root",
    "engine.tasks.graph_task": "engine.graph_task",
    "engine.tasks.ready_queue": "engine.ready_queue",
    "transforms.batching.mapping": "transforms.mapping",
    "forward_ad": "transforms.forward_ad",
}
