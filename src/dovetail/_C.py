"""The names of ``torch._C`` that Dovetail has: those of the dispatcher, of autograd, and
``_nn``.
"""

# ruff: noqa: N999 - the name is PyTorch's

from dovetail_autograd import (
    _get_autograd_fallback_mode,
    _set_autograd_fallback_mode,
    default_engine,
)
from dovetail_autograd import current_autograd_node as _current_autograd_node
from dovetail_autograd import (
    current_graph_task_execution_order as _current_graph_task_execution_order,
)
from dovetail_autograd import current_graph_task_id as _current_graph_task_id
from dovetail_autograd import is_multithreading_enabled as _is_multithreading_enabled
from dovetail_autograd import will_engine_execute_node as _will_engine_execute_node
from dovetail_dispatcher import _C
from dovetail_dispatcher._C import *  # noqa: F403 - its __all__ says which

from . import _nn

_EngineBase = _ImperativeEngine = type(default_engine)

__all__ = [
    "_EngineBase",
    "_ImperativeEngine",
    "_current_autograd_node",
    "_current_graph_task_execution_order",
    "_current_graph_task_id",
    "_get_autograd_fallback_mode",
    "_is_multithreading_enabled",
    "_nn",
    "_set_autograd_fallback_mode",
    "_will_engine_execute_node",
]
__all__ += _C.__all__
