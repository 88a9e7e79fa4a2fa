"""Keeps NumPy's floating-point warnings from the user in calls that no route makes
(`dovetail_aten.backend.error_state`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any

import numpy as np

from dovetail_aten.backend import find_error_state

_found = find_error_state(np)
if _found is None:
    raise RuntimeError(
        "NumPy has no context variable for its error state. Install NumPy 2.1 or later."
    )
_get, _set, _, _QUIET = _found


def silent(function: Callable[..., object]) -> Callable[..., Any]:
    """Return `function` without floating-point warnings."""

    @wraps(function)
    def quiet(*args: Any, **kwargs: Any) -> Any:
        before = _get()
        try:
            _set(_QUIET)
            return function(*args, **kwargs)
        finally:
            _set(before)

    return quiet


def nameless(function: Callable[..., object]) -> Callable[..., Any]:
    """Return a function that makes nothing but calls, as one of a module without a name: ufuncs
    warn in the name of their caller, and CPython drops what has none.
    """
    made = FunctionType(
        function.__code__,
        {**function.__globals__, "__name__": None},
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    made.__kwdefaults__ = function.__kwdefaults__
    setattr(made, "never_warns", True)  # noqa: B010  (a function's type knows no attributes)
    return made
