"""Automatic differentiation for Dovetail: the graph, the engine, and the kernels of the Autograd
keys.
"""

from typing import TYPE_CHECKING, Any, Final

from dovetail_kernel import forward_old_places, hookimpl, names_on_demand, publish

from .engine.active_levels import active_levels
from .engine.anomaly import (
    detect_anomaly,
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    set_detect_anomaly,
)
from .engine.interface import tensor_interface
from .graph.accumulate import AccumulateGrad
from .graph.autograd_meta import AutogradMeta, gradient_edge, requires_grad
from .graph.function_node import BackwardCFunction, FunctionCtx, _FunctionBase, _HookMixin
from .graph.function_node import FunctionNode as FunctionNode  # pickles name it
from .graph.grad_mode import (
    decorate,
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
from .graph.node import Edge, GradientEdge, Node
from .recording import autograd_layer
from .recording.function import (
    Function,
    FunctionMeta,
    _is_setup_context_defined,
    _SingleLevelFunction,
    once_differentiable,
)
from .recording.function import applies_are_asked as applies_are_asked  # for the front end
from .recording.node_classes import build_node_class
from .recording.unknown_derivative import _get_autograd_fallback_mode, _set_autograd_fallback_mode
from .sockets import BATCHED_GRAD

if TYPE_CHECKING:
    from .checking.gradcheck import GradcheckError, gradcheck, gradgradcheck
    from .engine.imperative_engine import Engine, default_engine
    from .engine.interface.backward import backward, grad
    from .engine.interface.graph_functions import (
        get_gradient_edge,
        increment_version,
        register_multi_grad_hook,
    )
    from .engine.interface.inside_backward import (
        current_autograd_node,
        current_graph_task,
        current_graph_task_execution_order,
        current_graph_task_id,
        will_engine_execute_node,
    )
    from .engine.interface.plan import Plan, PlannedNode, plan
    from .engine.tasks.graph_root import GraphRoot
    from .engine.tasks.graph_task import ExecInfo, GraphTask
    from .engine.tasks.ready_queue import InputBuffer, NodeTask, ReadyQueue
    from .graph.saved_listing import SavedValue, saved_values
    from .graph.saved_tensors_hooks import (
        allow_mutation_on_saved_tensors,
        disable_saved_tensors_hooks,
        save_on_cpu,
        saved_tensors_hooks,
    )
    from .recording.error_nodes import DelayedError, UndefinedGrad
    from .recording.node_kinds import node_kind, node_names

__all__ = [
    "AccumulateGrad",
    "AutogradMeta",
    "BackwardCFunction",
    "DelayedError",
    "Edge",
    "Engine",
    "ExecInfo",
    "Function",
    "FunctionCtx",
    "FunctionMeta",
    "GradcheckError",
    "GradientEdge",
    "GraphRoot",
    "GraphTask",
    "InputBuffer",
    "Node",
    "NodeTask",
    "Plan",
    "PlannedNode",
    "ReadyQueue",
    "RemovableHandle",
    "SavedValue",
    "UndefinedGrad",
    "_FunctionBase",
    "_HookMixin",
    "_SingleLevelFunction",
    "_get_autograd_fallback_mode",
    "_is_setup_context_defined",
    "_set_autograd_fallback_mode",
    "active_levels",
    "allow_mutation_on_saved_tensors",
    "backward",
    "build_node_class",
    "current_autograd_node",
    "current_graph_task",
    "current_graph_task_execution_order",
    "current_graph_task_id",
    "decorate",
    "default_engine",
    "detect_anomaly",
    "disable_saved_tensors_hooks",
    "dovetail_load",
    "enable_grad",
    "get_gradient_edge",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "gradient_edge",
    "increment_version",
    "inference_mode",
    "install",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "is_multithreading_enabled",
    "no_grad",
    "node_kind",
    "node_names",
    "once_differentiable",
    "plan",
    "register_multi_grad_hook",
    "requires_grad",
    "save_on_cpu",
    "saved_tensors_hooks",
    "saved_values",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "will_engine_execute_node",
]


_ON_DEMAND: Final = {
    "checking.gradcheck": (
        "GradcheckError",
        "gradcheck",
        "gradgradcheck",
    ),
    "engine.imperative_engine": (
        "Engine",
        "default_engine",
    ),
    "engine.interface.backward": (
        "backward",
        "grad",
    ),
    "engine.interface.graph_functions": (
        "get_gradient_edge",
        "increment_version",
        "register_multi_grad_hook",
    ),
    "engine.interface.inside_backward": (
        "current_autograd_node",
        "current_graph_task",
        "current_graph_task_execution_order",
        "current_graph_task_id",
        "will_engine_execute_node",
    ),
    "engine.interface.plan": (
        "Plan",
        "PlannedNode",
        "plan",
    ),
    "engine.tasks.graph_root": ("GraphRoot",),
    "engine.tasks.graph_task": (
        "ExecInfo",
        "GraphTask",
    ),
    "engine.tasks.ready_queue": (
        "InputBuffer",
        "NodeTask",
        "ReadyQueue",
    ),
    "graph.saved_listing": (
        "SavedValue",
        "saved_values",
    ),
    "graph.saved_tensors_hooks": (
        "allow_mutation_on_saved_tensors",
        "disable_saved_tensors_hooks",
        "save_on_cpu",
        "saved_tensors_hooks",
    ),
    "recording.error_nodes": (
        "DelayedError",
        "UndefinedGrad",
    ),
    "recording.node_kinds": (
        "node_kind",
        "node_names",
    ),
}
"""Names that most programs do without, or that only a backward needs, and their modules."""
forward_old_places(__name__, f"{__name__}.old_places")
__getattr__ = names_on_demand(__name__, _ON_DEMAND)
publish(
    __name__,
    lazy={name: f"{__name__}.{place}" for place, names in _ON_DEMAND.items() for name in names},
)


def _grad_batched(*arguments: Any) -> Any:
    """Run a batch of gradients by the transforms, which only few programs load."""
    from .transforms.batching.batched_gradients import grad_batched

    return grad_batched(*arguments)


def install() -> None:
    """Make tensors differentiable and calls record, once for the process."""
    tensor_interface.install()
    autograd_layer.install()
    BATCHED_GRAD.fill(_grad_batched)


@hookimpl
def dovetail_load() -> None:
    """Install when the plugin is loaded."""
    install()
