"""Overflow, division by zero and NaN are results, not warnings: NumPy's floating-point warnings are kept from the user.

NumPy reads its error state from a context variable, and `numpy.errstate` costs more than a small operator. So whoever
runs array functions (a route, the autograd engine) sets that variable itself, and resets it. What the user's own NumPy
code sees is the same as ever.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar, copy_context
from functools import wraps
from typing import Any, Final

import numpy as np


def _find_error_state() -> tuple[ContextVar[Any], Any]:
    """Return NumPy's context variable, and its value under which nothing warns."""
    before = dict(copy_context())
    with np.errstate(all="ignore"):
        for variable, value in copy_context().items():
            if before.get(variable) is not value:
                return variable, value
    raise RuntimeError("NumPy has no context variable for its error state. Install NumPy 2.1 or later.")


_error_state, _QUIET = _find_error_state()
_set, _reset = _error_state.set, _error_state.reset

ERROR_STATE: Final = (_set, _reset, _QUIET)
"""What routes and the autograd engine set around array functions: see `ArrayBackend.error_state`."""


def silent(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function` without floating-point warnings, for calls that no route makes."""

    @wraps(function)
    def quiet(*args: Any) -> Any:
        token = _set(_QUIET)
        try:
            return function(*args)
        finally:
            _reset(token)

    return quiet
