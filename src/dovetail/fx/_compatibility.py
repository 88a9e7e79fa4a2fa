"""The decorator by which PyTorch's own functions promise to stay as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

__all__ = ["compatibility"]

_T = TypeVar("_T")


def compatibility(is_backward_compatible: bool) -> Callable[[_T], _T]:
    """Return a decorator that returns what it decorates: nothing is promised here."""
    return lambda decorated: decorated
