"""Overflow, division by zero and NaN are results, not warnings: NumPy's floating-point warnings are kept from the user.

NumPy reads its error state from a context variable. `numpy.errstate` costs more than a small operator, so functions
written in Python set that variable themselves. A single ufunc needs nothing at all: its warning belongs to the module
of the frame that calls it, and CPython drops warnings of a module without a name, so a ufunc is called from there.
Neither touches the error state or the warning filters that the user's own NumPy code sees.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from functools import update_wrapper, wraps
from types import FunctionType
from typing import Any, Final

import numpy as np

Function = Callable[..., Any]


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

_VARIADIC: Final = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_UFUNC_CALLS: Final = {
    1: "def call(a, out=None):\n    return ufunc(a, out)\n",
    2: "def call(a, b, out=None):\n    return ufunc(a, b, out)\n",
}
_QUIET_CALL: Final = """\
def call({parameters}):
    token = enter(quiet)
    try:
        return function({arguments})
    finally:
        leave(token)
"""


def silent(function: Function) -> Function:
    """Return `function` without floating-point warnings. A ufunc takes its operands by position, and ``out=``."""
    if isinstance(function, np.ufunc) and function.nin in _UFUNC_CALLS and function.nout == 1:
        call: Function = _compiled(_UFUNC_CALLS[function.nin], {"__name__": None, "ufunc": function})
        call.__name__ = call.__qualname__ = function.__name__
        call.__module__ = "numpy"
        return call
    if isinstance(function, FunctionType) and not function.__code__.co_flags & _VARIADIC:
        return _quiet_twin(function)

    @wraps(function)
    def quiet(*args: Any, **kwargs: Any) -> Any:
        token = _set(_QUIET)
        try:
            return function(*args, **kwargs)
        finally:
            _reset(token)

    return quiet


def _quiet_twin(function: FunctionType) -> Function:
    """Return a function with the very parameters of `function`: to forward them as ``*args, **kwargs`` costs more."""
    code = function.__code__
    positional = code.co_varnames[: code.co_argcount]
    keywords = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    source = _QUIET_CALL.format(
        parameters=", ".join([*positional, *(["*", *keywords] if keywords else [])]),
        arguments=", ".join([*positional, *[f"{name}={name}" for name in keywords]]),
    )
    twin = _compiled(source, {"function": function, "enter": _set, "leave": _reset, "quiet": _QUIET})
    twin.__defaults__, twin.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    return update_wrapper(twin, function)


def _compiled(source: str, namespace: dict[str, Any]) -> Any:
    exec(source, namespace)
    return namespace["call"]
