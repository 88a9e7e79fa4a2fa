"""The printer: the source of a plan. It allocates every name in it, so that arguments of operators
may have any name.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable
from keyword import iskeyword
from typing import Any, Final, Self

from ..compilation import compile_source
from ..table.operator import Operator
from .plan import CallFunction, RoutePlan, Step, Value, argument_value
from .templates.entry import INDENT, symbol

_NOTHING: Final = object()


class _LocalNames(dict[Value, str]):
    """The local names of values: their own, with underscores behind one that is taken."""

    def __init__(self, taken: set[str]) -> None:
        self._taken = taken

    def __missing__(self, value: Value) -> str:
        name = value.name
        while name in self._taken or iskeyword(name):
            name += "_"
        self._taken.add(name)
        self[value] = name
        return name


class Printer:
    """The text of a route, which the steps of its plan add their lines to.

    Attributes
    ----------
    name_of_route
        Name of the function.
    bindings
        What the global names in the text are bound to.
    name
        ``name(value)`` is the local name of a value.
    """

    def __init__(self, op: Operator) -> None:
        self.name_of_route = symbol(op.schema)
        self.bindings: dict[str, Any] = {}
        self._lines: list[str] = []
        self._blocks: list[int] = []
        self._taken = {self.name_of_route}
        self.name: Callable[[Value], str] = _LocalNames(self._taken).__getitem__
        self._parameters = [self.name(argument_value(each)) for each in op.schema.arguments]

    @property
    def source(self) -> str:
        """The whole text."""
        body = f"\n{INDENT}".join(self._lines)
        return f"def {self.name_of_route}({', '.join(self._parameters)}):\n{INDENT}{body}\n"

    # -- names -------------------------------------------------------------------------------------

    def scratch(self, name: str) -> str:
        """Return the name of a local variable that holds something for a few lines only."""
        return self.name(Value(name))

    def bind(self, name: str, bound: Any) -> str:
        """Return the global name of an object that the text refers to: `name`, with underscores if
        it is taken.
        """
        while name in self._taken and not _is_same(self.bindings.get(name, _NOTHING), bound):
            name += "_"
        self._taken.add(name)
        self.bindings[name] = bound
        return name

    def builtin(self, name: str) -> str:
        """Return the name of a builtin: its own, unless an argument is called so."""
        return self.bind(name, getattr(builtins, name)) if name in self._taken else name

    # -- lines -------------------------------------------------------------------------------------

    def add(self, *lines: str) -> None:
        """Add lines to the block that is open."""
        self._lines += lines

    def print(self, steps: Iterable[Step]) -> None:
        """Add the lines of steps."""
        for step in steps:
            step.print(self)

    def block(self, header: str) -> Self:
        """Open a block: ``with to.block("try:"):`` makes what is added stand in it."""
        self._lines.append(header)
        return self

    def __enter__(self) -> None:
        self._blocks.append(len(self._lines))

    def __exit__(self, *exception: object) -> None:
        begin = self._blocks.pop()
        self._lines[begin:] = [INDENT + line for line in self._lines[begin:] or ["pass"]]


def _is_same(one: Any, other: Any) -> bool:
    return one is other or (one.__class__ is int is other.__class__ and one == other)


def printed(plan: RoutePlan) -> Printer:
    """Return the text of `plan`."""
    to = Printer(plan.op)
    to.print(plan.steps)
    to.add(f"return {', '.join([to.name(value) for value in plan.results]) or None}")
    return to


def build(plan: RoutePlan) -> Callable[..., Any]:
    """Return the route that does what `plan` says."""
    first = plan.steps[0]
    if isinstance(first, CallFunction) and len(plan.steps) == 1:
        return first.function
    text = printed(plan)
    route: Callable[..., Any] = compile_source(text.source, text.name_of_route, text.bindings)
    return route


__all__ = ["Printer", "build", "printed"]
