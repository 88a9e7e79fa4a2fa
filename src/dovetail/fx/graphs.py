"""The classes of graphs and of what makes them, for ``isinstance``, annotations and subclasses that
are defined and not used: there are no graphs.
"""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = [
    "Graph",
    "Interpreter",
    "Node",
    "Proxy",
    "Tracer",
    "Transformer",
    "Value",
    "symbolic_trace",
]


class _Refused:
    """Making one raises RuntimeError: nothing is traced to a graph."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse(type(self).__name__)


class Graph(_Refused):
    """The graph of a program."""


class Node(_Refused):
    """A call in a graph."""


class Value(_Refused):
    """What a node of a script returns."""


class Proxy(_Refused):
    """What stands for a value while a program is traced."""


class Tracer(_Refused):
    """What traces a program."""


class Interpreter(_Refused):
    """What runs a graph, node by node."""


class Transformer(Interpreter):
    """What makes another graph of one."""


def symbolic_trace(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuse with RuntimeError: nothing is traced to a graph."""
    _refuse("symbolic_trace")


def _refuse(name: str) -> NoReturn:
    raise RuntimeError(
        f"{name}: a program cannot be traced to a graph. dovetail.jit.trace records the calls of a "
        "module, dovetail.trace those of a program."
    )
