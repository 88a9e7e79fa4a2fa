"""What modules say to ``torch.fx`` when they are defined: nothing is traced to a graph here."""

from __future__ import annotations

import typing as _typing
from collections.abc import Callable

from ..absent_names import names_of as _names_of

__all__ = ["wrap"]

_OF_GRAPHS = (
    *("Graph", "Interpreter", "Node", "Proxy", "Tracer", "Transformer"),
    "symbolic_trace",
)
_F = _typing.TypeVar("_F", bound="str | Callable[..., _typing.Any]")


def wrap(fn_or_name: _F) -> _F:
    """Return a function, or its name, as it is: a tracer would keep calls of it whole.

    Raises
    ------
    RuntimeError
        For something else.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or string name"
        )
    return fn_or_name


if not _typing.TYPE_CHECKING:  # a type checker would take any name for one of these
    __getattr__ = _names_of(
        __name__,
        ("experimental", "graph_module", "graphs"),
        {
            "GraphModule": f"{__name__}.graph_module",
            **dict.fromkeys(_OF_GRAPHS, f"{__name__}.graphs"),
        },
        remedy="A module cannot be traced to a graph. dovetail.jit.trace records the calls of one, "
        "dovetail.trace those of a program.",
    )
