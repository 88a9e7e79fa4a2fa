"""Batching rules: how an operator is called on a whole batch, as records in the operator table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import RLock
from typing import Any, Final

__all__ = ["BatchingRule", "load_batching_rules", "on_first_vmap", "random_state_savers"]


@dataclass(frozen=True, slots=True, eq=False)
class BatchingRule:
    """How to call one operator on batched tensors.

    Attributes
    ----------
    function
        ``function(info, in_dims, *args, **kwargs)`` returns the outputs for a whole batch, and their batch dimensions.
        ``info`` has ``batch_size`` and ``randomness``; ``in_dims`` has an entry per positional argument, None for one
        without batch dimension, a list for a list of tensors.
    takes_all
        The function wants every argument of the schema, and not only those that differ from their default.
    where
        Where the rule was registered, for messages.
    """

    function: Callable[..., Any]
    takes_all: bool = False
    where: str = ""


_lock: Final = RLock()
_loaders: Final[list[Callable[[], object]]] = []
_wanted = False


random_state_savers: Final[list[Callable[[], Callable[[], object]]]] = []
"""Functions that remember where random generators are; what they return brings the generators back there.

For a `vmap` in chunks that all are to draw the same.
"""


def on_first_vmap(load: Callable[[], object]) -> None:
    """Call `load` before the first `vmap` runs (at once if one did): so the rules of a library cost no start-up time."""
    with _lock:
        if not _wanted:
            _loaders.append(load)
            return
    load()


def load_batching_rules() -> None:
    """Load the rules that libraries have announced."""
    global _wanted
    if _wanted and not _loaders:
        return
    with _lock:
        while _loaders:
            _loaders[0]()
            del _loaders[0]
        _wanted = True
