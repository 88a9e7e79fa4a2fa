"""Beginning and end of what an attached profiler collects, as ``torch.cuda.profiler``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .plugin import of_plugin

__all__ = ["profile", "start", "stop"]


def start() -> None:
    """Let an attached profiler (``nsys profile --capture-range=cudaProfilerApi``) collect from now
    on. `dovetail.profiler` needs none.
    """
    of_plugin("libraries").profile(True)


def stop() -> None:
    """Let an attached profiler collect no longer."""
    of_plugin("libraries").profile(False)


@contextmanager
def profile() -> Iterator[None]:
    """Let an attached profiler collect what the block does."""
    start()
    try:
        yield
    finally:
        stop()
