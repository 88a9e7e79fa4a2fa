"""Garbage collection, which waits while modules and tables are loaded: they make many objects and
no garbage, and looking at all of them, again and again, takes a fifth of the time. Nor does it look
at them afterwards: they go straight to the oldest generation.

The collector waits by its threshold and stays enabled: a library that is imported meanwhile may
note whether it is, to go back to that for good. Dask does.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from .fork_locks import call_in_child, renewed_after_fork

_lock = renewed_after_fork(Lock())
_threshold = 0
"""How many new objects start a collection, while this module keeps them from that; else 0."""


@contextmanager
def collection_paused() -> Iterator[None]:
    """Let the collector wait inside a block, unless it does already."""
    if not _pause():
        yield
        return
    try:
        yield
    finally:
        _resume()


def _pause() -> bool:
    """Let the collector wait; return whether it did not before."""
    global _threshold
    with _lock:
        wanted, *others = gc.get_threshold()
        if not gc.isenabled() or not wanted:
            return False
        _threshold = wanted
        gc.set_threshold(0, *others)
        return True


def _resume() -> None:
    """Let the collector go on, if this module stopped it."""
    global _threshold
    with _lock:
        now, *others = gc.get_threshold()
        before, _threshold = _threshold, 0
        if now or not before:  # set by what was loaded, or gone on in the child of a fork
            return
        if not gc.get_freeze_count():  # what others have frozen stays so
            gc.freeze()
            gc.unfreeze()
        gc.set_threshold(before, *others)


# A thread that is loading is not there in the child of another one.
call_in_child(_resume)
