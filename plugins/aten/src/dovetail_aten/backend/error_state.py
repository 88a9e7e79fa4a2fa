"""Keeps an array library from warning of overflow, division by zero and NaN, which are results.

NumPy reads its error state from a context variable, and `numpy.errstate` costs more than a small
operator. So the code that runs array functions (a route, the autograd engine) sets that variable
itself, and sets it back. What the user's own code with that library sees is the same as ever.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from typing import Any

ErrorState = tuple[Callable[[], Any], Callable[[Any], Any], Callable[[Any], Any], Any]


def find_error_state(namespace: object) -> ErrorState | None:
    """Return ``(get, set, reset, quiet)`` of the context variable that ``namespace.errstate`` sets,
    for `ArrayBackend`.

    None if the library has no ``errstate``, or does not store its state in a context variable.
    """
    errstate = getattr(namespace, "errstate", None)
    if errstate is None:
        return None
    before = dict(copy_context())
    try:
        with errstate(all="ignore"):
            for variable, value in copy_context().items():
                if before.get(variable) is not value:
                    return variable.get, variable.set, variable.reset, value
    except TypeError:
        # CuPy's has other categories, and warns of none of these.
        return None
    return None
