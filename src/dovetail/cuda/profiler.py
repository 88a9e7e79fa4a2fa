"""Start and stop of an attached profiler, as in ``torch.cuda.profiler``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .plugin import of_plugin

__all__ = ["profile", "start", "stop"]


def start() -> None:
    """Start an attached profiler (``nsys profile --capture-range=cudaProfilerApi``).
    `dovetail.profiler` does not need it.
    """
    of_plugin("libraries").profile(True)


def stop() -> None:
    """Stop an attached profiler."""
    of_plugin("libraries").profile(False)


@contextmanager
def profile() -> Iterator[None]:
    """Context manager in which an attached profiler collects data."""
    start()
    try:
        yield
    finally:
        stop()
