"""The classes of the graphs of scripts, for ``isinstance`` and annotations: there are no such
graphs.
"""

from __future__ import annotations

from typing import Any

__all__ = ["Graph", "Node", "Value"]


class _Refused:
    """Making one raises RuntimeError: nothing is compiled to a script."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(
            f"{type(self).__name__}: a program cannot be traced to a graph of a script. "
            "dovetail.fx.symbolic_trace makes one of a module, dovetail.jit.trace records its calls"
        )


class Graph(_Refused):
    """The graph of a script."""


class Node(_Refused):
    """A call in a graph of a script."""


class Value(_Refused):
    """What a node of a script returns."""
