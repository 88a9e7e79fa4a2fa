"""Limits of what reading an input may cost."""

from __future__ import annotations

import os
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

PEAK = "/proc/self/clear_refs"
"""File of Linux: "5" makes the peak of the process's memory what it takes now."""


@contextmanager
def limited(seconds: float, size: float, *, traced: bool = True) -> Iterator[None]:
    """Check that a block takes at most so many seconds of the processor and bytes of memory.

    Parameters
    ----------
    traced
        Whether to count Python's allocations, to the byte and at three times the block's time.
        Otherwise the pages of the process are counted, which memory that it holds unused hides.
    """
    traced = traced or not os.path.exists(PEAK)
    if traced:
        tracemalloc.start()
    else:
        os.write(_peak(), b"5")
    before = 0 if traced else _pages()
    start = time.process_time()
    try:
        yield
    finally:
        spent = time.process_time() - start
        if traced:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        else:
            peak = _pages() - before
        assert spent < seconds, f"{spent} s"
        assert peak < size, f"{peak} bytes, traced: {traced}"


@cache
def _peak() -> int:
    return os.open(PEAK, os.O_WRONLY)


def _pages() -> int:
    from resource import RUSAGE_SELF, getrusage  # not on every system

    return getrusage(RUSAGE_SELF).ru_maxrss * 1024
