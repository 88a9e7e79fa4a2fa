"""Functions that are also getters of attributes."""

from __future__ import annotations

from types import FunctionType


def getter(function: FunctionType) -> FunctionType:
    """Return a function that does the same, for a property.

    Those that override functions tell an access of the attribute from a call of the function.
    """
    return FunctionType(
        function.__code__, function.__globals__, function.__name__, None, function.__closure__
    )
