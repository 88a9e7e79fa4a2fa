"""Functions of ``torch._C._autograd`` about the tensors that graphs save."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final

from dovetail_autograd import saved_tensors_hooks

_pushed: Final[ContextVar[tuple[saved_tensors_hooks, ...]]] = ContextVar(
    "dovetail_pushed_saved_tensors_hooks", default=()
)


def _push_saved_tensors_default_hooks(
    pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]
) -> None:
    """Put hooks for saved tensors in force until `_pop_saved_tensors_default_hooks` is called; see
    `dovetail.autograd.graph.saved_tensors_hooks`, which does so for a block.
    """
    hooks = saved_tensors_hooks(pack_hook, unpack_hook)
    hooks.__enter__()
    _pushed.set((*_pushed.get(), hooks))


def _pop_saved_tensors_default_hooks() -> None:
    """Take back the hooks that were pushed last. Raises RuntimeError if none are in force."""
    if not _pushed.get():
        raise RuntimeError(
            "no hooks for saved tensors were pushed. Call _push_saved_tensors_default_hooks first."
        )
    *before, hooks = _pushed.get()
    hooks.__exit__(None, None, None)
    _pushed.set(tuple(before))
