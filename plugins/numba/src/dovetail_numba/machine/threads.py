"""Threads over pieces of arrays, where there is enough to do."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import RLock
from typing import Any, Final

from dovetail_kernel.forks import call_in_child, renewed_after_fork

WORTH: Final = 300_000
"""Nanoseconds of work from which another thread pays: it takes some ten thousand to begin."""

_lock: Final = renewed_after_fork(RLock())
_pool: ThreadPoolExecutor | None = None
_size = 0


def _default() -> int:
    given = os.environ.get("OMP_NUM_THREADS", "")
    if given.isdigit() and int(given):
        return int(given)
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


count = _default()
"""How many threads a call may use."""


def set_count(number: int) -> None:
    """Let calls use so many threads."""
    global count
    count = number


def split(work: Callable[[int, int], object], size: int, cost: float) -> None:
    """Call ``work(start, stop)`` for parts of ``range(size)``, in several threads if that pays.

    Parameters
    ----------
    work
        Runs compiled code, so that threads do run side by side. It must be ready: compiled.
    size
        How many items there are; a part is some of them in a row.
    cost
        Nanoseconds of work in all, roughly.
    """
    parts = min(count, size, int(cost // WORTH) + 1)
    if parts <= 1:
        work(0, size)
        return
    bounds = [size * part // parts for part in range(parts + 1)]
    others = [
        _executor(parts - 1).submit(work, bounds[part], bounds[part + 1])
        for part in range(1, parts)
    ]
    try:
        work(0, bounds[1])
    finally:
        for other in others:
            other.exception()  # nothing writes to the arrays any more, even if this part failed
    for other in others:
        other.result()


def _executor(size: int) -> Any:
    """Return the pool of this process, with at least so many threads."""
    global _pool, _size
    with _lock:
        if _pool is None or _size < size:
            # One that is too small is not shut down: another thread may be about to use it.
            _pool, _size = ThreadPoolExecutor(size, "dovetail-numba"), size
        return _pool


def _forget_pool() -> None:
    """Begin without threads in the child of a fork: those of the parent are not there."""
    global _pool, _size
    _pool, _size = None, 0


call_in_child(_forget_pool)


__all__ = ["count", "set_count", "split"]
