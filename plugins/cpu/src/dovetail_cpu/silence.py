"""Keeps NumPy's floating-point warnings from the user in calls that no route makes
(`dovetail_aten.backend.error_state`), and its iterator from copying rows and columns.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any, Final

import numpy as np

from dovetail_aten.backend import find_error_state

_found = find_error_state(np)
if _found is None:
    raise RuntimeError(
        "NumPy has no context variable for its error state. Install NumPy 2.1 or later."
    )
_get, _set, _, _QUIET = _found
LONG_ROW: Final = 256
"""Length of rows from which `row_by_row` pays."""


def _without_buffers() -> Any:
    """Return the error state that is quiet and has buffers for less than a long row."""
    with np.errstate(all="ignore"):
        np.setbufsize(LONG_ROW)
        return _get()


_ROW_BY_ROW: Final = _without_buffers()


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


def row_by_row(function: Callable[..., object]) -> Callable[..., Any]:
    """Return `function`, which warns of nothing and whose passes with a column, or with one row
    for all, go row by row.

    As long as several rows fit into its buffer, NumPy copies what is the same for all elements of
    a row, or for all rows, until the buffer is full: that takes longer than the pass itself.
    """

    @wraps(function)
    def unbuffered(*args: Any) -> Any:
        before = _get()
        try:
            _set(_ROW_BY_ROW)
            return function(*args)
        finally:
            _set(before)

    return unbuffered


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
