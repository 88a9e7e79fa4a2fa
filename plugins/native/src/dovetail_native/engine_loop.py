"""The engine's loop, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail_autograd import loop_parts
from dovetail_autograd.sockets import COMPILED_LOOP
from dovetail_dispatcher import NoArrayKernelError, kernel_namespace

from ._core import UfuncLoop, run_backward, set_engine
from .formulas import lowered_body


class _Loop:
    """The loop of `run_backward`, as autograd calls it."""

    array_type: type[Any] = np.ndarray
    run = staticmethod(run_backward)


def _copy_for_leaf(leaf: loop_parts.AccumulateGrad, grad: Any) -> Any:
    """Return a copy of the array `grad` whose dimensions lie in memory as those of the leaf."""
    return loop_parts.copy_like(grad, leaf.variable.array)


def install(runs_in_python: int = 16) -> _Loop:
    """Tell the core the parts of the engine, and put the loop into the socket of autograd; return
    it.

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
            "fit_gradient": loop_parts.conformed,
            "kernel_namespace": kernel_namespace,
            "leave_arrays": loop_parts.leave_arrays,
            "lower_body": lowered_body,
            "no_array_kernel": NoArrayKernelError,
            "run_on_tensors": loop_parts.run_node_on_tensors,
        },
        runs_in_python,
    )
    loop = _Loop()
    COMPILED_LOOP.fill(loop)
    return loop
