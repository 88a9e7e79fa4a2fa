"""The global hooks of modules, by the names under which PyTorch's module has them."""

from __future__ import annotations

from types import ModuleType

from .hook_registration import (
    are_full_backward_hooks,
    backward_hooks,
    set_full_backward_hooks,
    table_of_flags,
    table_of_functions,
)
from .hooks import global_hooks


class GlobalTables(ModuleType):
    """A Python module whose tables of global hooks can be read, changed and assigned."""

    _own_hooks = staticmethod(global_hooks)

    _global_forward_hooks = table_of_functions("forward")
    _global_forward_pre_hooks = table_of_functions("forward_pre")
    _global_backward_pre_hooks = table_of_functions("full_backward_pre")
    _global_forward_hooks_with_kwargs = table_of_flags("forward", "with_kwargs")
    _global_forward_hooks_always_called = table_of_flags("forward", "always_call")
    _global_backward_hooks = backward_hooks
    _global_is_full_backward_hook = property(are_full_backward_hooks, set_full_backward_hooks)
