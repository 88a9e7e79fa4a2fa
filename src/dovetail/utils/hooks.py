"""Handles of hooks, and hooks that pickle may omit, as in ``torch.utils.hooks``."""

from collections.abc import Callable
from typing import Any, TypeVar

from dovetail_autograd import RemovableHandle

__all__ = ["RemovableHandle", "unserializable_hook"]

F = TypeVar("F", bound=Callable[..., Any])


def unserializable_hook(f: F) -> F:
    """Mark a tensor hook so that pickling its tensor does not warn that the hook is omitted."""
    f.__torch_unserializable__ = True  # type: ignore[attr-defined]
    return f
