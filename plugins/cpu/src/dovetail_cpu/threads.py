"""Threads that share the work of one kernel: blocks of elements, rows, images.

NumPy's loops let go of the interpreter while they run. The threads belong to this module: products
of matrices have those of BLAS, whose number is another setting of the process.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextvars import Context, copy_context
from itertools import pairwise
from threading import Lock, local
from typing import TYPE_CHECKING, Final

from dovetail_kernel.forks import call_in_child, renewed_after_fork

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

__all__ = ["SHARED_FROM", "get_num_threads", "processors", "run_pieces", "set_num_threads"]

SHARED_FROM: Final = 1 << 17
"""Elements from which several threads pay: less takes them some 100 µs."""


class _Worker(local):
    """Whether this thread is one of the pool: what it computes is not shared once more."""

    is_one = False


_worker: Final = _Worker()
_lock: Final = renewed_after_fork(Lock())
_pool: ThreadPoolExecutor | None = None


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _number_at_first() -> int:
    """Return what OMP_NUM_THREADS says, as for PyTorch, else the number of processors."""
    said = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return int(said) if said.isdecimal() and int(said) else processors()


_number = _number_at_first()


def get_num_threads() -> int:
    """Return how many threads share the work of a kernel."""
    return _number


def set_num_threads(number: int) -> None:
    """Let `number` threads, at least 1, share the work of a kernel from now on."""
    global _number, _pool
    with _lock:
        before, _pool, _number = _pool, None, number
    if before is not None:
        before.shutdown(wait=False)


def _forget() -> None:
    """Drop the pool: a child of this process has none of its threads."""
    global _pool
    _pool = None


call_in_child(_forget)


def run_pieces(function: Callable[[int, int], object], count: int, work: int) -> None:
    """Call ``function(start, stop)`` for parts of ``range(count)``, which are independent of each
    other, on several threads if `work`, in elements, is enough.

    All parts have ended when this returns or raises; of several errors one is raised. The
    function runs in the context of the caller.
    """
    if _number == 1 or count < 2 or work < SHARED_FROM or _worker.is_one:
        function(0, count)
        return
    from concurrent.futures import wait  # imports logging

    parts = min(_number, count)
    ends = [count * part // parts for part in range(parts + 1)]
    futures = _submit(function, list(pairwise(ends[1:])))
    try:
        function(0, ends[1])
    finally:
        wait(futures)
    for future in futures:
        future.result()


def _submit(
    function: Callable[[int, int], object], pieces: Sequence[tuple[int, int]]
) -> list[Future[object]]:
    """Hand pieces to the threads of the pool, which is made when there is none."""
    global _pool
    from concurrent.futures import ThreadPoolExecutor

    with _lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(max(1, _number - 1), "dovetail_cpu")
        return [_pool.submit(_work, copy_context(), function, *piece) for piece in pieces]


def _work(context: Context, function: Callable[[int, int], object], start: int, stop: int) -> None:
    _worker.is_one = True
    context.run(function, start, stop)
