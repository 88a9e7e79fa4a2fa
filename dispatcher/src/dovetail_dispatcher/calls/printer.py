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


class Printer:
    """The text of a route, which the steps of its plan add their lines to.

    Attributes
    ----------
    name_of_route
        Name of the function.
    bindings
        What the global names in the text are bound to.
    """

    def __init__(self, op: Operator) -> None:
        self.name_of_route = symbol(op.schema)
        self.bindings: dict[str, Any] = {}
        self._lines: list[str] = []
        self._indent = INDENT
        self._names: dict[Value, str] = {}
        self._taken = {self.name_of_route}
        self._parameters = [self.name(argument_value(each)) for each in op.schema.arguments]

    @property
    def source(self) -> str:
        """The whole text."""
        body = "\n".join(self._lines)
        return f"def {self.name_of_route}({', '.join(self._parameters)}):\n{body}\n"

    # -- names -------------------------------------------------------------------------------------

    def name(self, value: Value) -> str:
        """Return the local name of a value: its own, with underscores behind one that is taken."""
        name = self._names.get(value)
        if name is None:
            name = value.name
            while name in self._taken or iskeyword(name):
                name += "_"
            self._taken.add(name)
            self._names[value] = name
        return name

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
        for line in lines:
            self._lines.append(self._indent + line)

    def print(self, steps: Iterable[Step]) -> None:
        """Add the lines of steps."""
        for step in steps:
            step.print(self)

    def block(self, header: str) -> Self:
        """Open a block: ``with to.block("try:"):`` makes what is added stand in it."""
        self._lines.append(self._indent + header)
        return self

    def __enter__(self) -> None:
        self._indent += INDENT

    def __exit__(self, *exception: object) -> None:
        if self._lines[-1].endswith(":"):
            self.add("pass")
        self._indent = self._indent[: -len(INDENT)]


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
