"""The stacks of modes under PyTorch's names (``torch._C``), and whether functions can be overridden
at this moment.
"""

from __future__ import annotations

from threading import get_ident
from typing import Any

from dovetail_kernel import TensorBase, dispatch_state
from dovetail_kernel.keys import NOT_PLAIN, StateGuard, without_python

from .intercepted_functions import hold_functions, release_functions
from .mode_stacks import dispatch_modes, function_modes


def _is_torch_function_enabled() -> bool:
    """Return whether the ``__torch_function__`` of Tensor subclasses is heeded."""
    return dispatch_state().torch_function


def _is_torch_function_all_disabled() -> bool:
    """Return whether neither subclasses are heeded nor a function mode is active."""
    now = dispatch_state()
    return not now.torch_function and not now.function_modes


def _is_torch_function_mode_enabled() -> bool:
    """Return whether calls of functions go through a `TorchFunctionMode`."""
    return dispatch_state().function_modes


def _len_torch_function_stack() -> int:
    """Return how many function modes are active."""
    return len(function_modes.modes)


def _get_function_stack_at(level: int) -> Any:
    """Return an active function mode; 0 is the outermost."""
    return function_modes.modes[level]


def _push_on_torch_function_stack(mode: object) -> None:
    """Make a function mode the innermost, until it is popped; ``with mode:`` takes care of that by
    itself.
    """
    hold_functions(_holder())
    function_modes.push(mode)


def _pop_torch_function_stack() -> Any:
    """Take away the innermost function mode; raises RuntimeError if there is none."""
    mode = function_modes.pop()
    release_functions(_holder())
    return mode


def _holder() -> object:
    """Return by what a mode that is pushed here, with so many beneath, holds functions."""
    return get_ident(), len(function_modes.modes)


def _len_torch_dispatch_stack() -> int:
    """Return how many dispatch modes are active."""
    return len(dispatch_modes.modes)


def _get_dispatch_stack_at(level: int) -> Any:
    """Return an active dispatch mode; 0 is the outermost."""
    return dispatch_modes.modes[level]


def _push_on_torch_dispatch_stack(mode: object) -> None:
    """Make a dispatch mode the innermost, until it is popped; ``with mode:`` takes care of that by
    itself.
    """
    dispatch_modes.push(mode)


def _pop_torch_dispatch_stack() -> Any:
    """Take away the innermost dispatch mode; raises RuntimeError if there is none."""
    return dispatch_modes.pop()


def _dispatch_isTensorSubclassLike(tensor: TensorBase) -> bool:
    """Return whether the class of a tensor overrides operators, or a dispatch mode is active."""
    return bool(tensor._signature & NOT_PLAIN) or bool(dispatch_modes.modes)


class _DisableTorchDispatch(StateGuard):
    """Guard: neither dispatch modes nor the ``__torch_dispatch__`` of arguments is heeded."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(without_python)
