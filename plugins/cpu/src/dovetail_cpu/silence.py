"""Overflow, division by zero and NaN are results, not warnings: NumPy's floating-point warnings are kept from the user.

NumPy reads its error state from a context variable. `numpy.errstate` costs more than a small operator, so functions
written in Python set that variable themselves. A single ufunc needs nothing at all: its warning belongs to the module
of the frame that calls it, and CPython drops warnings of a module without a name, so a ufunc is called from there.
Neither touches the error state or the warning filters that the user's own NumPy code sees.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar, copy_context
from functools import wraps
from typing import Any, Final

import numpy as np

Function = Callable[..., Any]

_CALLS: Final = {
    1: "def call(a, out=None):\n    return ufunc(a, out)\n",
    2: "def call(a, b, out=None):\n    return ufunc(a, b, out)\n",
}


def _find_error_state() -> tuple[ContextVar[Any], Any]:
    """Return NumPy's context variable, and its value under which nothing warns."""
    before = dict(copy_context())
    with np.errstate(all="ignore"):
        for variable, value in copy_context().items():
            if before.get(variable) is not value:
                return variable, value
    raise RuntimeError("NumPy has no context variable for its error state: this release of Dovetail needs NumPy >= 2.1")


_error_state, _QUIET = _find_error_state()
_set, _reset = _error_state.set, _error_state.reset


def silent(function: Function) -> Function:
    """Return `function` without floating-point warnings: a ufunc, called positionally or with ``out=``, or any other."""
    if isinstance(function, np.ufunc) and function.nin in _CALLS and function.nout == 1:
        return _unnamed_call(function)

    @wraps(function)
    def quiet(*args: Any, **kwargs: Any) -> Any:
        token = _set(_QUIET)
        try:
            return function(*args, **kwargs)
        finally:
            _reset(token)

    return quiet


def _unnamed_call(ufunc: np.ufunc) -> Function:
    namespace: dict[str, Any] = {"__name__": None, "ufunc": ufunc}
    exec(_CALLS[ufunc.nin], namespace)
    call: Function = namespace["call"]
    call.__name__ = call.__qualname__ = ufunc.__name__
    call.__module__ = "numpy"
    return call
