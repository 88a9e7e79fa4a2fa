"""The functions of one name: overloads in order of definition, and the out variants that serve
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dovetail_dispatcher import FunctionSchema
from dovetail_dispatcher.calls import numbers_allowed

from ..templates.arithmetic import ARITHMETIC
from .errors import DeclarationError
from .readers.native_functions import NativeFunction


@dataclass(frozen=True)
class OverloadSet:
    """All functional or in-place overloads of a base name.

    Attributes
    ----------
    name
        The base name.
    overloads
        In order of definition; out variants only if there is nothing else.
    outs
        The out variant by the name of the functional overload.
    """

    name: str
    overloads: tuple[NativeFunction, ...]
    outs: dict[str, NativeFunction]

    @property
    def is_method(self) -> bool:
        """Whether some overload is a method of tensors."""
        return any(["method" in overload.variants for overload in self.overloads])

    @property
    def module(self) -> str | None:
        """The module of the public function, ``""`` for the top level; None if no overload is a
        function.
        """
        modules = [
            overload.python_module for overload in self.overloads if "function" in overload.variants
        ]
        return modules[0] if modules else None

    @property
    def is_public(self) -> bool:
        """Whether the name is a function at the top level of the front end."""
        return self.module == "" and any([overload.is_public for overload in self.overloads])

    @property
    def old(self) -> tuple[FunctionSchema, ...]:
        """The deprecated overloads, which the function of the name takes too."""
        return tuple([schema for overload in self.overloads for schema in overload.old])

    @property
    def surplus_of_old(self) -> int:
        """How many positional arguments deprecated overloads have beyond those of the function."""
        first = self.overloads[0].schema.arguments
        own = sum([not argument.kwarg_only for argument in first])
        return max([0, *[len(schema.arguments) - own for schema in self.old]])

    @property
    def is_called(self) -> bool:
        """Whether users call the function: it is public, or a method."""
        return (self.module is not None or self.is_method) and not self.name.startswith("_")

    @property
    def has_choice(self) -> bool:
        """Whether the arguments of a call tell which overload it means."""
        return len(self.overloads) > 1 and not self.takes_numbers

    @property
    def takes_numbers(self) -> bool:
        """Whether the overload for two tensors serves Python numbers too, so that no choice is
        needed.
        """
        first, *rest = self.overloads
        if not takes_numbers(first) or self.name.rstrip("_") in _NUMBERS_APART:
            return False
        return all([other.schema.overload_name == "Scalar" for other in rest])

    def run_by(self, function: NativeFunction) -> NativeFunction:
        """Return the overload that runs calls of `function`: for a number, that for two tensors if
        it serves both.
        """
        if self.name.rstrip("_") in _NUMBERS_APART:
            return function
        wanted = function.schema.overload_name.replace("Scalar", "Tensor")
        served = [
            f for f in self.overloads if f.schema.overload_name == wanted and takes_numbers(f)
        ]
        return served[0] if served else function

    def out_of(self, function: NativeFunction) -> NativeFunction | None:
        """Return the out variant for calls of `function`: for a number, in arithmetic, that of the
        overload for two tensors if it has none of its own.
        """
        own = self.outs.get(function.name)
        if own is not None or self.name not in ARITHMETIC or function.namespace != "aten":
            return own
        return self.outs.get(function.name.replace("Scalar", "Tensor"))


_NUMBERS_APART = ("pow", "remainder", "fmod", "rsub")
"""Names whose overload for numbers has a derivative, and a node, of its own."""


def overload_sets(functions: Sequence[NativeFunction]) -> list[OverloadSet]:
    """Group `functions` by base name, in order of first appearance."""
    groups: dict[str, list[NativeFunction]] = {}
    for function in functions:
        groups.setdefault(function.base_name, []).append(function)
    sets = []
    for name, group in groups.items():
        outs = {
            f.derived_from: f
            for f in group
            if f.schema_kind == "out" and f.derived_from is not None
        }
        plain = tuple([f for f in group if f.schema_kind != "out"])
        sets.append(OverloadSet(name, plain or tuple(group), outs))
    return sets


def takes_numbers(function: NativeFunction) -> bool:
    """Say whether a Python number may stand for the second of exactly two tensors."""
    return function.namespace == "aten" and numbers_allowed(function.schema, function.promote)


def function_name(function: NativeFunction) -> str:
    """Return the name of the function of one overload among several: ``sum_dim_IntList``,
    ``sum_default``.
    """
    own = function.identifier
    if function.base_name.removesuffix("_") == "scatter" and "reduce" in own.split("_"):
        own = own.replace("scatter_", "scatter_with_", 1)  # scatter_reduce is an operator
    return own if function.schema.overload_name else f"{own}_default"


def check_names(sets: Sequence[OverloadSet]) -> None:
    """Check that no function of an overload has the name of another operator. Raises
    DeclarationError with the line of the overload.
    """
    names = {overloads.name for overloads in sets}
    for overloads in sets:
        for function in overloads.overloads if overloads.has_choice else ():
            if (name := function_name(function)) in names:
                raise DeclarationError(
                    function.where,
                    f"the function of {function.name} has the name of the operator {name}.",
                    "Give it another name in function_name (codegen/overload_sets.py).",
                )
