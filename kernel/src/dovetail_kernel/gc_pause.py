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
    paused: list[bool] = []
    try:
        _pause(paused)
        yield
    finally:
        try:
            if paused:
                _resume()
        except KeyboardInterrupt:
            _resume()
            raise


def _pause(paused: list[bool]) -> None:
    """Let the collector wait, and note that in `paused` first, unless it does already."""
    global _threshold
    with _lock:
        wanted, *others = gc.get_threshold()
        if gc.isenabled() and wanted:
            _threshold = wanted
            paused.append(True)
            gc.set_threshold(0, *others)


def _resume() -> None:
    """Let the collector go on, if this module stopped it."""
    global _threshold
    with _lock:
        now, *others = gc.get_threshold()
        if _threshold and not now:  # else set by what was loaded, or in the child of a fork
            if not gc.get_freeze_count():  # what others have frozen stays so
                gc.freeze()
                gc.unfreeze()
            gc.set_threshold(_threshold, *others)
        _threshold = 0


# A thread that is loading is not there in the child of another one.
call_in_child(_resume)
