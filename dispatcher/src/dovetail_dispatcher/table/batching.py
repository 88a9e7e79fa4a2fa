"""Batching rules: how an operator is called on a whole batch, as records in the operator table."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from threading import RLock
from typing import TYPE_CHECKING, Any, Final

from dovetail_kernel import DispatchKey

if TYPE_CHECKING:
    from .operator import Operator

__all__ = [
    "BatchingRule",
    "checked_rule",
    "load_batching_rules",
    "on_first_vmap",
    "random_state_savers",
]


@dataclass(frozen=True, slots=True, eq=False)
class BatchingRule:
    """How to call one operator on batched tensors.

    Attributes
    ----------
    function
        ``function(info, in_dims, *args, **kwargs)`` returns the outputs for a whole batch, and
        their batch dimensions. ``info`` has ``batch_size`` and ``randomness``; ``in_dims`` has an
        entry per positional argument, None for one without batch dimension, a list for a list of
        tensors.
    takes_all
        The function wants every argument of the schema, and not only those that differ from their
        default.
    takes_unbatched
        The function is called even if no argument has a batch, as random operators need.
    where
        Where the rule was registered, for messages.
    """

    function: Callable[..., Any]
    takes_all: bool = False
    takes_unbatched: bool = False
    where: str = ""


def checked_rule(op: Operator, function: Callable[..., Any], where: str) -> BatchingRule:
    """Return the rule of a user for `op`.

    Raises
    ------
    TypeError
        If the function cannot take ``info``, ``in_dims`` and the positional arguments of the
        operator.
    RuntimeError
        If the operator decomposes into others before a rule would be asked.
    """
    if not callable(function):
        raise TypeError(f"register_vmap: expected a function, but got {type(function).__name__}.")
    if op.newest(DispatchKey.CompositeImplicitAutograd) is not None:
        raise RuntimeError(
            f"register_vmap: {op.qualified_name} has a CompositeImplicitAutograd kernel, so vmap "
            "calls the operators "
            "that it is made of. Register rules for those, or give it a CompositeExplicitAutograd "
            "kernel."
        )
    required = [
        a for a in op.schema.arguments if not a.has_default_value()
    ]  # others are left out at their default
    names = [a.name for a in required if not a.kwarg_only]
    named = {a.name: None for a in required if a.kwarg_only}
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return BatchingRule(function, where=where)
    try:
        signature.bind(None, None, *names, **named)
    except TypeError as error:
        raise TypeError(
            f"register_vmap: a rule of {op.qualified_name} is called as func(info, in_dims, "
            f"{', '.join([*names, *[f'{name}={name}' for name in named]])}), but {where} takes "
            f"{signature}: {error}"
        ) from None
    return BatchingRule(function, where=where)


_lock: Final = RLock()
_loaders: Final[list[Callable[[], object]]] = []
_wanted = False


random_state_savers: Final[list[Callable[[], Callable[[], object]]]] = []
"""Functions that remember where random generators are; what they return brings the generators back
there.

For a `vmap` in chunks that all are to draw the same.
"""


def on_first_vmap(load: Callable[[], object]) -> None:
    """Call `load` before the first `vmap` runs (at once if one did): the rules of a library cost no
    start-up.
    """
    with _lock:
        if not _wanted:
            _loaders.append(load)
            return
    load()


def load_batching_rules() -> None:
    """Load the rules that libraries have announced. They are those of the libraries, whoever
    happens to need them.
    """
    global _wanted
    if _wanted and not _loaders:
        return
    from .transactions import transaction

    with _lock, transaction():
        while _loaders:
            _loaders[0]()
            del _loaders[0]
        _wanted = True
