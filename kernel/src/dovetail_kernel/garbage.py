"""Garbage collection, which waits while modules and tables are loaded: they make many objects and
no garbage, and looking at all of them, again and again, takes a fifth of the time. Nor does it look
at them afterwards: they go straight to the oldest generation.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from .forks import call_in_child

_paused = False


@contextmanager
def collection_paused() -> Iterator[None]:
    """Let the collector wait inside a block, unless it does already."""
    global _paused
    if not gc.isenabled():
        yield
        return
    _paused = True
    gc.disable()
    try:
        yield
    finally:
        _resume()


def _resume() -> None:
    """Let the collector go on, if this module stopped it."""
    global _paused
    if _paused:
        _paused = False
        if not gc.get_freeze_count():  # what others have frozen stays so
            gc.freeze()
            gc.unfreeze()
        gc.enable()


# A thread that is loading is not there in the child of another one.
call_in_child(_resume)
