"""BatchingRule: how `vmap` calls an operator on a whole batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class BatchingRule(NamedTuple):
    """How to call one operator on batched tensors.

    Attributes
    ----------
    function
        ``function(info, in_dims, *args, **kwargs)`` returns the outputs for a whole batch, and
        their batch dimensions. ``info`` has ``batch_size`` and ``randomness``; ``in_dims`` has an
        entry per positional argument, None for one without batch dimension, a list for a list of
        tensors.
    takes_all
        Whether the function receives every argument of the schema, instead of only those that
        differ from their default.
    takes_unbatched
        Whether the function is called even if no argument has a batch dimension, as random
        operators require.
    where
        Where the rule was registered, for error messages.
    """

    function: Callable[..., Any]
    takes_all: bool = False
    takes_unbatched: bool = False
    where: str = ""
