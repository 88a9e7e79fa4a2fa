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
from typing import Final

from .fork_locks import call_in_child

_pauses: Final[list[list[int]]] = []
"""What each block in which the collector waits has noted. No lock guards it: an interrupt on entry
to a ``with`` of a lock leaves it locked from Python 3.14 on. Two threads that enter at once may
both note a threshold, which is the same one.
"""


@contextmanager
def collection_paused() -> Iterator[None]:
    """Let the collector wait inside a block, unless it does already."""
    noted: list[int] = []
    try:
        _pause(noted)
        yield
    finally:
        try:
            _resume(noted)
        except KeyboardInterrupt:
            _resume(noted)
            raise


def _pause(noted: list[int]) -> None:
    """Let the collector wait, and note first how many new objects start a collection, unless it
    does already.
    """
    wanted, *others = gc.get_threshold()
    if gc.isenabled() and wanted:
        noted.append(wanted)
        _pauses.append(noted)
        gc.set_threshold(0, *others)


def _resume(noted: list[int]) -> None:
    """Let the collector go on, if a block has stopped it."""
    now, *others = gc.get_threshold()
    if noted and not now:  # else set by what was loaded, or by another block
        if not gc.get_freeze_count():  # what others have frozen stays so
            gc.freeze()
            gc.unfreeze()
        gc.set_threshold(noted[0], *others)
    _pauses[:] = [each for each in _pauses if each is not noted]


def _resume_in_child() -> None:
    """Let the collector go on in the child of a fork: threads that are loading are not there."""
    for noted in list(_pauses):
        _resume(noted)


call_in_child(_resume_in_child)
