"""The engine's loop over arrays in parts, for code that compiles it: the classes whose slots it
reads, and the functions that it calls where Python goes on.
"""

from __future__ import annotations

from .engine.node_runs.run_on_arrays import (
    arrays_of_task,
    bring_to_leaf,
    call_hooks_of_leaf,
    complete_leaf,
    conformed,
    leave_arrays,
    run_node_on_tensors,
)
from .graph.accumulate import AccumulateGrad, copy_like
from .graph.node import Node
from .graph.saved_slots import RELEASED

__all__ = [
    "RELEASED",
    "AccumulateGrad",
    "Node",
    "arrays_of_task",
    "bring_to_leaf",
    "call_hooks_of_leaf",
    "complete_leaf",
    "conformed",
    "copy_like",
    "leave_arrays",
    "run_node_on_tensors",
]
