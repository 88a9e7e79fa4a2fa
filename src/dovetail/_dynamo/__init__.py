"""The names of ``torch._dynamo`` that programs use; nothing is compiled."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final

from ..compiler import allow_in_graph, disable, is_compiling, reset, uncompiled
from ..names.missing import serve_names as _serve_names

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "config",
    "disable",
    "graph_break",
    "is_compiling",
    "is_dynamo_supported",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "optimize",
    "reset",
]

config: Final = SimpleNamespace(
    cache_size_limit=8, recompile_limit=8, suppress_errors=False, verbose=False
)
"""Settings of PyTorch's compiler: they can be written and read, and nothing follows from them."""


def assume_constant_result(fn: Callable[..., object]) -> Any:
    """Return the function: no graph is traced that could hold its result."""
    return fn


def graph_break(msg: str = "") -> None:
    """Do nothing: no graph is traced."""


def is_dynamo_supported() -> bool:
    """Return False: nothing is compiled."""
    return False


def mark_dynamic(t: object, index: int | list[int] | tuple[int, ...], **options: Any) -> None:
    """Do nothing: no graph is traced."""


def mark_static(t: object, index: int | list[int] | tuple[int, ...] | None = None) -> None:
    """Do nothing: no graph is traced."""


def mark_static_address(t: object, guard: bool = False) -> None:
    """Do nothing: no graph is traced."""


def optimize(*arguments: Any, **options: Any) -> Any:
    """Return a decorator that returns its function."""
    return uncompiled


_serve_names(
    __name__,
    ("eval_frame", "utils"),
    {"OptimizedModule": f"{__name__}.eval_frame"},
    remedy="Nothing is compiled.",
)
