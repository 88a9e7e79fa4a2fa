"""Automatic differentiation for Dovetail: the graph, the engine, and the kernels of the Autograd
keys.
"""

from typing import TYPE_CHECKING, Any

from dovetail_kernel import hookimpl

from .engine import tensor_interface
from .engine.anomaly import (
    detect_anomaly,
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    set_detect_anomaly,
)
from .engine.backward import backward, grad
from .engine.engine import (
    current_autograd_node,
    current_graph_task_id,
    queue_callback,
    runs_whole_graph,
    will_engine_execute_node,
)
from .engine.graph_hooks import GradientEdge
from .graph.accumulate import AccumulateGrad
from .graph.autograd_meta import AutogradMeta, gradient_edge, requires_grad
from .graph.function_node import FunctionNode
from .graph.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from .graph.hooks import RemovableHandle
from .graph.node import Edge, Node
from .recording import autograd_layer
from .recording.function import Function, once_differentiable
from .recording.node_classes import build_node_class
from .recording.saved_listing import SavedValue, saved_values
from .recording.unknown_derivative import (
    _get_autograd_fallback_mode,
    _set_autograd_fallback_mode,
)

if TYPE_CHECKING:
    from .checking.gradcheck import GradcheckError, gradcheck, gradgradcheck

__all__ = [
    "AccumulateGrad",
    "AutogradMeta",
    "Edge",
    "Function",
    "FunctionNode",
    "GradcheckError",
    "GradientEdge",
    "Node",
    "RemovableHandle",
    "SavedValue",
    "_get_autograd_fallback_mode",
    "_set_autograd_fallback_mode",
    "backward",
    "build_node_class",
    "current_autograd_node",
    "current_graph_task_id",
    "detect_anomaly",
    "dovetail_load",
    "enable_grad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "gradient_edge",
    "inference_mode",
    "install",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "is_multithreading_enabled",
    "no_grad",
    "once_differentiable",
    "queue_callback",
    "requires_grad",
    "runs_whole_graph",
    "saved_values",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "will_engine_execute_node",
]


def __getattr__(name: str) -> Any:
    if name not in (
        "GradcheckError",
        "gradcheck",
        "gradgradcheck",
    ):  # needed by tests alone, so imported on demand
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = import_module(".checking.gradcheck", __name__)
    for each in ("GradcheckError", "gradcheck", "gradgradcheck"):
        globals()[each] = getattr(module, each)
    return globals()[name]


def install() -> None:
    """Make tensors differentiable and calls record, once for the process."""
    tensor_interface.install()
    autograd_layer.install()


@hookimpl
def dovetail_load() -> None:
    """Install when the plugin is loaded."""
    install()
