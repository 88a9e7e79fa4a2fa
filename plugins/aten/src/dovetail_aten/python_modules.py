"""The generated functions by where they are public: at the top, or in a module such as ``nn``."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from types import FunctionType
from typing import Any

from ._generated import functions
from ._generated.tensor_methods import TensorMethods

__all__ = ["TensorMethods", "function_names", "generated_function"]


def function_names(module: str = "") -> list[str]:
    """Return the names of the generated functions of a ``python_module`` of the declarations.

    Parameters
    ----------
    module
        Such as ``"linalg"``; default: those that are public at the top.
    """
    if not module:
        return list(functions.__all__)
    name = f"{__package__}._generated.{module}"
    if find_spec(name) is None:
        return []
    found = import_module(name)  # where special_zeta is called zeta
    return [getattr(found, each).__name__ for each in found.__all__]


def generated_function(name: str) -> Callable[..., Any] | None:
    """Return the generated function of an operator, or None if there is none of that name."""
    found = getattr(functions, name, None)
    return found if isinstance(found, FunctionType) else None
