"""Ranges and marks for NVIDIA's profilers, as in ``torch.cuda.nvtx``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .plugin import of_plugin

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]

_depth = 0


def range_push(msg: str) -> int:
    """Begin a range, and return its depth, counted from 0."""
    global _depth
    of_plugin("streams").nvtx().RangePush(msg)
    _depth += 1
    return _depth - 1


def range_pop() -> int:
    """End the innermost range, and return its depth."""
    global _depth
    of_plugin("streams").nvtx().RangePop()
    _depth -= 1
    return _depth


def range_start(msg: str, device_id: int = 0) -> int:
    """Begin a range that may end in another thread, and return its number for `range_end`."""
    number: int = of_plugin("streams").nvtx().RangeStart(msg, 0)
    return number


def range_end(range_id: int) -> None:
    """End a range that `range_start` began."""
    of_plugin("streams").nvtx().RangeEnd(range_id)


def mark(msg: str) -> None:
    """Mark a moment."""
    of_plugin("streams").nvtx().Mark(msg)


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """Show a block as a range; further arguments are those of ``msg.format``."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
