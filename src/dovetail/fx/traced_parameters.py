"""The parameters of a function that is traced."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, TypeVar


def annotations_of(function: Callable[..., object]) -> dict[str, Any]:
    """Return the annotations of a function but those that say nothing, or nothing that is known."""
    try:
        found = inspect.get_annotations(function, eval_str=True)
    except Exception:  # names that are there for type checkers alone
        found = inspect.get_annotations(function)
    return {
        name: kind
        for name, kind in found.items()
        if kind is not Any and not isinstance(kind, (str, TypeVar))
    }


def is_nested(value: object) -> bool:
    """Tell whether a value of a parameter holds others."""
    return isinstance(value, (tuple, list, dict))


def taking_all_by_position(function: FunctionType) -> FunctionType:
    """Return a function that takes all its parameters by position, those with stars as well: what
    stands for them cannot be unpacked.
    """
    stars = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
    code: CodeType = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    flat = code.replace(
        co_argcount=count,
        co_kwonlyargcount=0,
        co_posonlyargcount=0,
        co_flags=code.co_flags & ~stars,
    )
    return FunctionType(
        flat, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
