"""Batching rules: checks those that authors register, and loads those of libraries before the first
`vmap`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from threading import RLock
from typing import Final

from dovetail_kernel import DispatchKey, renewed_after_fork

from ..sockets import BATCHING_RULES
from ..table.batching_rule import BatchingRule
from ..table.operator import Operator
from ..table.updates.transactions import transaction


def checked_rule(op: Operator, function: Callable[..., object], where: str) -> BatchingRule:
    """Return the rule of a user for `op`.

    Raises
    ------
    TypeError
        If the function cannot take ``info``, ``in_dims`` and the positional arguments of the
        operator.
    NotImplementedError
        If the operator has keyword-only tensors.
    RuntimeError
        If the operator decomposes into others before a rule would be asked.
    """
    if not callable(function):
        raise TypeError(f"register_vmap: expected a function, but got {type(function).__name__}.")
    if op.newest(DispatchKey.CompositeImplicitAutograd) is not None:
        raise RuntimeError(
            f"register_vmap: {op.qualified_name} has a CompositeImplicitAutograd kernel, so vmap "
            "calls the operators that it is made of. Register rules for those, or give it a "
            "CompositeExplicitAutograd kernel."
        )
    if any([a.kwarg_only and a.is_tensor_like for a in op.schema.arguments]):
        raise NotImplementedError(
            "register_vmap with kwarg-only Tensor args. In the original definition of the op, "
            f"please make your tensors not kwarg-only. Got: {op.schema}"
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


_lock: Final = renewed_after_fork(RLock())
_loaded = 0
"""How many of the loaders in the socket were called."""


def load_batching_rules() -> None:
    """Load the rules that libraries have declared.

    They belong to the libraries, and stay registered when the registration that first needed them
    is reverted.
    """
    global _loaded
    if _loaded == len(BATCHING_RULES.plugs):
        return
    with _lock, transaction():
        while _loaded < len(BATCHING_RULES.plugs):
            BATCHING_RULES.plugs[_loaded]()
            _loaded += 1
