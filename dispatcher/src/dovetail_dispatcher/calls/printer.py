"""The printer: the source of a plan. It allocates every name in it, so that arguments of operators
may have any name.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable
from keyword import iskeyword
from typing import Any, Final, NamedTuple, Self

from ..compilation import compile_source
from ..schema import FunctionSchema
from ..sockets import COMPILED_ROUTE
from ..table.operator import Operator
from .plan import CallFunction, RoutePlan, Step, Value, argument_value
from .templates.entry import INDENT, symbol

_NOTHING: Final = object()
_OPEN: Final = "indent"
_CLOSE: Final = "dedent"
"""Stand among the lines where a block begins and ends; told from lines by identity."""


class _LocalNames(dict[Value, str]):
    """The local names of values: their own, with underscores behind one that is taken."""

    __slots__ = ("_taken",)

    _taken: set[str]

    def __missing__(self, value: Value) -> str:
        name = value.name
        while name in self._taken or iskeyword(name):
            name += "_"
        self._taken.add(name)
        self[value] = name
        return name


class _Begin(NamedTuple):
    """How the text of every route of an operator begins: its name, and those of its parameters."""

    name: str
    names: dict[Value, str]


def _begin(schema: FunctionSchema) -> _Begin:
    """Return the beginning of routes of `schema`, which keeps it."""
    name = symbol(schema)
    names = _LocalNames()
    names._taken = {name}
    for argument in schema.arguments:
        names[argument_value(argument)]
    made = schema.__dict__["_begin"] = _Begin(name, dict(names))
    return made


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
    add
        ``add(line)`` adds a line to the block that is open.
    extend
        ``extend(lines)`` adds several.
    """

    def __init__(self, op: Operator) -> None:
        schema = op.schema
        begin: _Begin = schema.__dict__.get("_begin") or _begin(schema)
        self.name_of_route = begin.name
        self.bindings: dict[str, Any] = {}
        self._lines: list[str] = []
        self.add: Callable[[str], None] = self._lines.append
        self.extend: Callable[[Iterable[str]], None] = self._lines.extend
        names = _LocalNames(begin.names)
        self._taken = names._taken = {begin.name, *begin.names.values()}
        self.name: Callable[[Value], str] = names.__getitem__
        self._begin = begin

    @property
    def source(self) -> str:
        """The whole text."""
        text, indent = (
            [f"def {self.name_of_route}({', '.join(self._begin.names.values())}):"],
            INDENT,
        )
        for line in self._lines:
            if line is _OPEN:
                indent += INDENT
            elif line is _CLOSE:
                if text[-1].endswith(":"):
                    text.append(f"{indent}pass")
                indent = indent.removesuffix(INDENT)
            else:
                text.append(indent + line)
        return "\n".join([*text, ""])

    # -- names -------------------------------------------------------------------------------------

    def scratch(self, name: str) -> str:
        """Return the name of a local variable that holds something for a few lines only."""
        return self.name(Value(name))

    def bind(self, name: str, bound: object) -> str:
        """Return the global name of an object that the text refers to: `name`, with underscores if
        it is taken.
        """
        while name in self._taken:
            known = self.bindings.get(name, _NOTHING)
            if known is bound or (known.__class__ is int is bound.__class__ and known == bound):
                return name
            name += "_"
        self._taken.add(name)
        self.bindings[name] = bound
        return name

    def by_name(self, name: str, text: str) -> str:
        """Return the text of an argument given by name, which may be a keyword of Python."""
        return f"**{{{name!r}: {text}}}" if iskeyword(name) else f"{name}={text}"

    def builtin(self, name: str) -> str:
        """Return the name of a builtin: its own, unless an argument is called so."""
        return self.bind(name, getattr(builtins, name)) if name in self._taken else name

    # -- lines -------------------------------------------------------------------------------------

    def print(self, steps: Iterable[Step]) -> None:
        """Add the lines of steps."""
        for step in steps:
            step.print(self)

    def block(self, header: str) -> Self:
        """Open a block: ``with to.block("try:"):`` makes what is added stand in it."""
        self.extend((header, _OPEN))
        return self

    def __enter__(self) -> None: ...

    def __exit__(self, *exception: object) -> None:
        self.add(_CLOSE)


def printed(plan: RoutePlan) -> Printer:
    """Return the text of `plan`."""
    to = Printer(plan.op)
    to.print(plan.steps)
    to.add(f"return {', '.join([to.name(value) for value in plan.results]) or None}")
    return to


def build(plan: RoutePlan) -> Callable[..., Any]:
    """Return the route that does what `plan` says: a function, or a compiled program."""
    first = plan.steps[0]
    if isinstance(first, CallFunction) and len(plan.steps) == 1:
        return first.function
    compiled = COMPILED_ROUTE.plug
    if compiled is not None and (program := compiled(plan)) is not None:
        return program
    text = printed(plan)
    route: Callable[..., Any] = compile_source(text.source, text.name_of_route, text.bindings)
    return route
