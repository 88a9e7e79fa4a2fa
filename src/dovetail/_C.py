"""The names of ``torch._C`` that Dovetail has: those of the dispatcher, of autograd, and
``_nn``.
"""

# ruff: noqa: N999 - the name is PyTorch's

from dovetail_autograd import _get_autograd_fallback_mode, _set_autograd_fallback_mode
from dovetail_autograd import current_autograd_node as _current_autograd_node
from dovetail_autograd import current_graph_task_id as _current_graph_task_id
from dovetail_autograd import is_multithreading_enabled as _is_multithreading_enabled
from dovetail_dispatcher import _C
from dovetail_dispatcher._C import *  # noqa: F403 - its __all__ says which

from . import _nn

__all__ = [
    "_current_autograd_node",
    "_current_graph_task_id",
    "_get_autograd_fallback_mode",
    "_is_multithreading_enabled",
    "_nn",
    "_set_autograd_fallback_mode",
]
__all__ += _C.__all__
