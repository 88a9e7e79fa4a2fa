"""The names of ``torch.compile`` and ``torch.compiler``; programs run without compilation.

Compilation would not change results, so decorators return the function unchanged, with a single
notice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from dovetail_kernel import warn_user

from ..names.missing import serve_names as _serve_names

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "reset",
    "set_stance",
]

_noticed = False


def uncompiled(function: object) -> Any:
    """Return `function`, which runs as it stands; the first time, a warning says so."""
    global _noticed
    if not _noticed:
        _noticed = True
        warn_user(
            "Dovetail has no compiler: torch.compile and its like return the function unchanged. "
            "(Shown once.)"
        )
    return function


def compile(
    model: Callable[..., object] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., object] = "inductor",
    mode: str | None = None,
    options: Mapping[str, object] | None = None,
    disable: bool = False,
) -> Any:
    """Return a function or module unchanged; usable as a decorator, with or without arguments.

    Parameters
    ----------
    model
        Function or module; if omitted, a decorator is returned.
    fullgraph, dynamic, backend, mode, options, disable
        Options of PyTorch's compiler; accepted and ignored.
    """
    return uncompiled if model is None else uncompiled(model)


def disable(fn: object = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Return `fn` unchanged; without `fn`, return a decorator."""
    return _same if fn is None else fn


def _same(function: Callable[..., object]) -> Any:
    return function


def allow_in_graph(fn: Callable[..., object]) -> Any:
    """Return `fn`: no graph is traced."""
    return fn


def assume_constant_result(fn: Callable[..., object]) -> Any:
    """Return `fn`: no graph is traced."""
    return fn


def set_stance(stance: str = "default", **options: Any) -> AbstractContextManager[None]:
    """Return a context manager without effect."""
    return nullcontext()


def is_compiling() -> bool:
    """Return False: programs are not compiled."""
    return False


def is_dynamo_compiling() -> bool:
    """Return False: programs are not compiled."""
    return False


def is_exporting() -> bool:
    """Return False: programs are not compiled."""
    return False


def list_backends(exclude_tags: tuple[str, ...] = ("debug", "experimental")) -> list[str]:
    """Return an empty list: there are no compilers."""
    return []


def reset() -> None:
    """Do nothing: nothing was compiled."""


def cudagraph_mark_step_begin() -> None:
    """Do nothing: nothing was compiled."""


_serve_names(__name__)
