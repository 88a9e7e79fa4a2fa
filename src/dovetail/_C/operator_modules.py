"""The objects that hold the functions of the operators, by where PyTorch keeps them: ``_nn``,
``_linalg``, ``_fft``, ``_special``, and ``_VariableFunctions`` for those at the top.

They take whatever is generated, when it is asked for.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import dovetail_aten
from dovetail_aten.python_modules import function_names, generated_function
from dovetail_dispatcher import ops


class _Operators(ModuleType):
    """A module of functions that are generated with one ``python_module``."""

    def __init__(self, name: str, python_module: str) -> None:
        super().__init__(
            f"{__package__}.{name}", f"The functions of the operators of `{python_module}`."
        )
        self._python_module = python_module

    @property
    def __all__(self) -> list[str]:
        return function_names(self._python_module)

    def __getattr__(self, name: str) -> Any:
        is_own = name.startswith(("_", f"{self._python_module}_")) or name in self.__all__
        if name[:2] != "__" and is_own:
            found = generated_function(name)
            if found is not None:
                return found
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.__all__})


def operator_module(name: str, python_module: str) -> ModuleType:
    """Return the module ``_C.<name>`` of the functions of `python_module`; it can be imported."""
    made = sys.modules[f"{__package__}.{name}"] = _Operators(name, python_module)
    return made


_NOT_PUBLIC = ("unique_dim",)
"""Functions that PyTorch has in `_VariableFunctions` and at no public place."""


class _VariableFunctionsClass:
    """The class of `_VariableFunctions`, which holds the functions at the top."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        found = generated_function(name)
        if found is None and name[:2] != "__":
            found = getattr(ops.aten, name, None)  # a library defined it
        if name in function_names() or (found is not None and hasattr(dovetail_aten, name)):
            return getattr(dovetail_aten, name)
        if found is not None and (name[0] == "_" or name in _NOT_PUBLIC):
            return found
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *function_names()})


_VariableFunctions = _VariableFunctionsClass()
