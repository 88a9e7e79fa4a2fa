"""Formulas of a generated module, which is imported when something of one of them is first read."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .derivative_formula import Formula


class FormulaOfModule(Formula):
    """The formula of an operator among the ``FORMULAS`` of a module.

    Initially, only the operator's name is set. Reading another field imports the module; reading a
    body compiles it.

    Parameters
    ----------
    operator
        Qualified name with overload, ``aten::mul.Tensor``.
    module
        Import name of the module.
    """

    __slots__ = ("_module",)

    def __init__(self, operator: str, module: str) -> None:
        self.operator = operator
        self._module = module

    def __getattr__(self, name: str) -> Any:
        if name not in Formula.__slots__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        formulas = import_module(self._module).FORMULAS
        own = next(iter([formula for formula in formulas if formula.operator == self.operator]))
        value = getattr(own, name)
        setattr(self, name, value)
        return value
