"""Gradients of several results, some of which may be missing."""

from __future__ import annotations

from typing import Any

from ..typing import Namespace


def added(k: Namespace, first: Any, second: Any) -> Any:
    """Return the sum of two gradients, of which one may be None."""
    if first is None or second is None:
        return second if first is None else first
    return k.add(first, second)
