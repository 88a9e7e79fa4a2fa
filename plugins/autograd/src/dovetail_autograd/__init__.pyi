from dovetail_kernel import is_grad_enabled as is_grad_enabled

from .checking.gradcheck import GradcheckError as GradcheckError
from .checking.gradcheck import gradcheck as gradcheck
from .checking.gradcheck import gradgradcheck as gradgradcheck
from .engine.active_levels import active_levels as active_levels
from .engine.anomaly import detect_anomaly as detect_anomaly
from .engine.anomaly import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from .engine.anomaly import is_anomaly_enabled as is_anomaly_enabled
from .engine.anomaly import set_detect_anomaly as set_detect_anomaly
from .engine.imperative_engine import Engine as Engine
from .engine.imperative_engine import default_engine as default_engine
from .engine.interface.backward import backward as backward
from .engine.interface.backward import grad as grad
from .engine.interface.graph_functions import get_gradient_edge as get_gradient_edge
from .engine.interface.graph_functions import increment_version as increment_version
from .engine.interface.graph_functions import register_multi_grad_hook as register_multi_grad_hook
from .engine.interface.inside_backward import current_autograd_node as current_autograd_node
from .engine.interface.inside_backward import current_graph_task as current_graph_task
from .engine.interface.inside_backward import (
    current_graph_task_execution_order as current_graph_task_execution_order,
)
from .engine.interface.inside_backward import current_graph_task_id as current_graph_task_id
from .engine.interface.inside_backward import will_engine_execute_node as will_engine_execute_node
from .engine.interface.plan import Plan as Plan
from .engine.interface.plan import PlannedNode as PlannedNode
from .engine.interface.plan import plan as plan
from .engine.tasks.graph_root import GraphRoot as GraphRoot
from .engine.tasks.graph_task import ExecInfo as ExecInfo
from .engine.tasks.graph_task import GraphTask as GraphTask
from .engine.tasks.ready_queue import InputBuffer as InputBuffer
from .engine.tasks.ready_queue import NodeTask as NodeTask
from .engine.tasks.ready_queue import ReadyQueue as ReadyQueue
from .graph.accumulate import AccumulateGrad as AccumulateGrad
from .graph.autograd_meta import AutogradMeta as AutogradMeta
from .graph.autograd_meta import gradient_edge as gradient_edge
from .graph.autograd_meta import requires_grad as requires_grad
from .graph.function_node import BackwardCFunction as BackwardCFunction
from .graph.function_node import FunctionCtx as FunctionCtx
from .graph.function_node import FunctionNode
from .graph.function_node import _FunctionBase as _FunctionBase
from .graph.function_node import _HookMixin as _HookMixin
from .graph.grad_mode import decorate as decorate
from .graph.grad_mode import enable_grad as enable_grad
from .graph.grad_mode import inference_mode as inference_mode
from .graph.grad_mode import is_inference_mode_enabled as is_inference_mode_enabled
from .graph.grad_mode import is_multithreading_enabled as is_multithreading_enabled
from .graph.grad_mode import no_grad as no_grad
from .graph.grad_mode import set_grad_enabled as set_grad_enabled
from .graph.grad_mode import set_multithreading_enabled as set_multithreading_enabled
from .graph.hooks import RemovableHandle as RemovableHandle
from .graph.node import Edge as Edge
from .graph.node import GradientEdge as GradientEdge
from .graph.node import Node as Node
from .graph.saved_listing import SavedValue as SavedValue
from .graph.saved_listing import saved_values as saved_values
from .graph.saved_tensors_hooks import (
    allow_mutation_on_saved_tensors as allow_mutation_on_saved_tensors,
)
from .graph.saved_tensors_hooks import disable_saved_tensors_hooks as disable_saved_tensors_hooks
from .graph.saved_tensors_hooks import save_on_cpu as save_on_cpu
from .graph.saved_tensors_hooks import saved_tensors_hooks as saved_tensors_hooks
from .recording.error_nodes import DelayedError as DelayedError
from .recording.error_nodes import UndefinedGrad as UndefinedGrad
from .recording.function import Function as Function
from .recording.function import FunctionMeta as FunctionMeta
from .recording.function import _is_setup_context_defined as _is_setup_context_defined
from .recording.function import _SingleLevelFunction as _SingleLevelFunction
from .recording.function import applies_are_asked as applies_are_asked
from .recording.function import once_differentiable as once_differentiable
from .recording.node_classes import build_node_class as build_node_class
from .recording.node_kinds import node_kind as node_kind
from .recording.node_kinds import node_names as node_names
from .recording.unknown_derivative import _get_autograd_fallback_mode as _get_autograd_fallback_mode
from .recording.unknown_derivative import _set_autograd_fallback_mode as _set_autograd_fallback_mode
