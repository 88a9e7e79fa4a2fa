"""NumPy as another library: the same functions, with arrays of a class of its own."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import wraps
from types import ModuleType
from typing import Any

import numpy as np

__all__ = ["Array", "Library", "of_the_class"]


class Array(np.ndarray[Any, Any]):
    """An array that is not the cpu's."""


class Library:
    """A module of NumPy, or a generator, whose functions return arrays of the class."""

    def __init__(self, wrapped: Any) -> None:
        self.wrapped = wrapped
        self.__name__ = getattr(wrapped, "__name__", type(wrapped).__name__)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.wrapped, name)
        if isinstance(found, ModuleType):
            found = Library(found)
        elif callable(found) and not isinstance(found, type):
            found = of_the_class(found)
        setattr(self, name, found)
        return found

    def __deepcopy__(self, memo: dict[int, Any]) -> Library:
        return Library(deepcopy(self.wrapped, memo))


def of_the_class(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function` with results of the class; those of a ufunc are, of arguments that are."""
    if isinstance(function, np.ufunc):
        return function

    @wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        return _as_arrays(function(*arguments, **keywords))

    return call


def _as_arrays(result: Any) -> Any:
    if isinstance(result, tuple | list):
        items = [_as_arrays(each) for each in result]
        return type(result)(*items) if hasattr(result, "_fields") else type(result)(items)
    return result.view(Array) if type(result) is np.ndarray else result
