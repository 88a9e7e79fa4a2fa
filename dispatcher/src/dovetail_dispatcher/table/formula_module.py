"""Formulas of a generated module, which is imported when something of one of them is first read."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .derivative_formula import Formula


class FormulaOfModule(Formula):
    """The formula of an operator among the ``FORMULAS`` of a module.

    Initially, only the operator's name is set. Reading another field imports the module; reading a
    body compiles that.

    Parameters
    ----------
    operator
        Qualified name with overload, ``aten::mul.Tensor``.
    module
        Import name of the module.
    """

    __slots__ = ("_module", "_own")

    _own: Formula

    def __init__(self, operator: str, module: str) -> None:
        self.operator = operator
        self._module = module

    def __getattr__(self, name: str) -> Any:
        if name == "_own":
            formulas = import_module(self._module).FORMULAS
            value = next(iter([each for each in formulas if each.operator == self.operator]))
        elif name in Formula.__slots__:
            value = getattr(self._own, name)
        else:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        setattr(self, name, value)
        return value
