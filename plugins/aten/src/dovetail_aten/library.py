"""Loads the base library into the operator table: the operators on import, what stands on them by
`load`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from dovetail_dispatcher import Kernel
from dovetail_dispatcher.table import registry
from dovetail_dispatcher.table.batching import on_first_vmap
from dovetail_dispatcher.table.formula_module import FormulaOfModule
from dovetail_dispatcher.table.kernels import TENSOR
from dovetail_kernel import DispatchKey, plugin_manager

from ._generated.registrations import COMPOSITES, OPERATORS

__all__ = ["load"]

LOCATION = f"{__file__}:1"

_NOT_IMPORTED: Any = None
_loaded = False


def load() -> None:
    """Register, once, what stands on the definitions: composite kernels, the choice of backends,
    formulas.
    """
    global _loaded
    if _loaded:
        return
    from .backend import backend_select

    undos: list[registry.Undo] = []
    for qualified, key, module, name in COMPOSITES:
        base, _, overload = qualified.partition(".")
        registry.add_kernel(base, overload, Composite(module, name, DispatchKey[key]), undos)
    backend_select.register()
    _set_formulas()
    on_first_vmap(_load_batching_rules)
    _loaded = True


class Composite(Kernel):
    """A kernel whose function is imported when an operator that has it is first called."""

    __slots__ = ("_function", "_module", "_name")

    returns_by_schema = True

    def __init__(self, module: str, name: str, key: DispatchKey) -> None:
        self._module = module
        self._name = name
        self._function: Any = None
        super().__init__(_NOT_IMPORTED, key, TENSOR, LOCATION, plugin=plugin_manager.loading())

    @property
    def fn(self) -> Callable[..., Any]:
        """The composite function."""
        if self._function is None:
            self._function = getattr(import_module(self._module), self._name)
        function: Callable[..., Any] = self._function
        return function

    @fn.setter
    def fn(self, function: Callable[..., Any] | None) -> None:
        self._function = function


def _load_batching_rules() -> None:
    from .batching import registration

    registration.register()


def _set_formulas() -> None:
    from ._generated import derivatives
    from .fusions import FUSIONS

    for family, names in derivatives.OPERATORS.items():
        module = f"{derivatives.__name__}.{family}"
        for name in names:
            base, _, overload = name.partition(".")
            registry.find_or_throw(base, overload).formula = FormulaOfModule(name, module)
    for fusion in FUSIONS:
        composite = registry.find_or_throw(fusion.operator)
        composite.fusion = fusion
        for part in (fusion.inner, fusion.outer):
            registry.find_or_throw(part).fused_in += (composite,)
    registry.forget_all_routes()


registry.define_many(OPERATORS, LOCATION)
