"""RouteText, the text of a route while layers are still adding to it, and how text becomes a
function.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType
from typing import Any


@dataclass
class RouteText:
    """The body of a route: lines that leave the result in variables, and what the names in them are
    bound to.

    Attributes
    ----------
    name
        Name of the function.
    parameters
        One name per schema argument, in order; all positional.
    lines
        Statements, unindented at the top level, up to but without the ``return``.
    results
        Names of the variables that hold the returns, one per schema return.
    bindings
        Global names of the lines.
    arrays
        For every result made from an array in these lines: result name to the variable that holds
        the array. Empty for a route that calls something opaque.
    promoted
        Whether operands are cast to another dtype before the call, so that arrays and gradients may
        differ in dtype.
    amounts_to
        A function that does the same as long as no layer adds to the lines.
    """

    name: str
    parameters: Sequence[str]
    lines: list[str] = field(default_factory=list)
    results: Sequence[str] = ()
    bindings: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, str] = field(default_factory=dict)
    promoted: bool = False
    amounts_to: Callable[..., Any] | None = None

    def returning(self) -> str:
        """Return the ``return`` statement."""
        if not self.results:
            return "return None"
        return f"return {', '.join(self.results)}"

    def source(self) -> str:
        """Return the whole text."""
        body = "\n".join(f"    {line}" for line in [*self.lines, self.returning()])
        return f"def {self.name}({', '.join(self.parameters)}):\n{body}\n"

    def build(self) -> Callable[..., Any]:
        """Return the function."""
        if self.amounts_to is not None and len(self.lines) == 1:
            return self.amounts_to
        return compile_source(self.source(), self.name, self.bindings)


def compile_source(source: str, name: str, bindings: dict[str, Any]) -> Callable[..., Any]:
    """Run `source` with `bindings` as its globals and return what it calls `name`.

    Equal texts share their code; the text is shown in tracebacks.
    """
    namespace = {"__name__": "dovetail.generated", **bindings}
    exec(_compile(source, name), namespace)
    function: Callable[..., Any] = namespace[name]
    return function


@lru_cache(maxsize=4096)
def _compile(source: str, name: str) -> CodeType:
    filename = f"<dovetail {name} {hash(source) & 0xFFFFFFFF:08x}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    return compile(source, filename, "exec")
