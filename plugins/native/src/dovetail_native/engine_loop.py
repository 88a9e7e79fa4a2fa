"""The parts of the engine's loop that are Python; importing this module gives them to the core."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail_autograd import loop_parts
from dovetail_dispatcher import NoArrayKernelError, kernel_namespace

from ._core import UfuncLoop, set_engine
from .formulas import lowered_body


def _copy_for_leaf(leaf: loop_parts.AccumulateGrad, grad: Any) -> Any:
    """Return a copy of the array `grad` whose dimensions lie in memory as those of the leaf."""
    return loop_parts.copy_like(grad, leaf.variable.array)


def install(runs_in_python: int = 16) -> None:
    """Tell the core the parts of the engine.

    Parameters
    ----------
    runs_in_python
        How often nodes of a class run before their formula becomes a program, which takes as long
        as some hundred runs. Default: 16.
    """
    set_engine(
        loop_parts.Node,
        loop_parts.AccumulateGrad,
        {
            "add_loop": UfuncLoop(np.add),
            "arrays_of_task": loop_parts.arrays_of_task,
            "bring_to_leaf": loop_parts.bring_to_leaf,
            "call_hooks_of_leaf": loop_parts.call_hooks_of_leaf,
            "complete_leaf": loop_parts.complete_leaf,
            "copy_for_leaf": _copy_for_leaf,
            "fit_gradient": loop_parts.conform_array,
            "kernel_namespace": kernel_namespace,
            "leave_arrays": loop_parts.leave_arrays,
            "lower_body": lowered_body,
            "no_array_kernel": NoArrayKernelError,
            "run_on_tensors": loop_parts.run_node_on_tensors,
        },
        runs_in_python,
    )


install()
