"""Loads the base library: its operators, its composite kernels and its derivative formulas into the operator table."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from dovetail_dispatcher import Kernel, registry
from dovetail_dispatcher.kernels import TENSOR
from dovetail_kernel import DispatchKey

from ._generated.registrations import COMPOSITES, OPERATORS

__all__ = ["define_operators", "load"]

LOCATION = f"{__file__}:1"

_defined = False
_loaded = False


def define_operators() -> None:
    """Define the operators, once. The generated functions look them up when they are imported."""
    global _defined
    if not _defined:
        registry.define_many(OPERATORS, LOCATION)
        _defined = True


def load() -> None:
    """Register, once, what stands on the definitions: composite kernels, the choice of backends, formulas."""
    global _loaded
    if _loaded:
        return
    from . import backend_select

    undos: list[registry.Undo] = []
    for qualified, key, module, name in COMPOSITES:
        base, _, overload = qualified.partition(".")
        registry.add_kernel(base, overload, Composite(module, name, DispatchKey[key]), undos)
    backend_select.register()
    _set_formulas()
    _loaded = True


class Composite(Kernel):
    """A kernel whose function is imported when an operator that has it is first called."""

    __slots__ = ("_function", "_module", "_name")

    def __init__(self, module: str, name: str, key: DispatchKey) -> None:
        self._module = module
        self._name = name
        super().__init__(_not_imported, key, TENSOR, LOCATION)

    @property
    def fn(self) -> Callable[..., Any]:  # type: ignore[override]
        """The composite function."""
        if self._function is _not_imported:
            self._function = getattr(import_module(self._module), self._name)
        return self._function

    @fn.setter
    def fn(self, function: Callable[..., Any]) -> None:
        self._function = function


def _not_imported() -> None:
    """Stand for a function that is not imported yet."""


def _set_formulas() -> None:
    from ._generated.derivatives import FORMULAS

    for formula in FORMULAS:
        base, _, overload = formula.operator.partition(".")
        op = registry.find_or_throw(base, overload)
        op.formula = formula
    registry.forget_all_routes()
