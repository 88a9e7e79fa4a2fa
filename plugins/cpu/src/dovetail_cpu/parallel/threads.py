"""Threads that share the work of one kernel: the images of a convolution.

NumPy's loops and compiled kernels let go of the interpreter while they run. The threads belong to
this module: products of matrices have those of BLAS, whose number is another setting of the
process.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from itertools import pairwise
from threading import RLock, local
from typing import TYPE_CHECKING, Any, Final

from dovetail_kernel.fork_locks import call_in_child, renewed_after_fork

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

SHARED_FROM: Final = 1 << 19
"""Elements from which several threads pay: each step of a kernel waits for the interpreter, which
the other thread may have just then.
"""


class _Helper(local):
    """Whether this thread is one of the pool: what it computes is not shared once more."""

    is_one = False


_helper: Final = _Helper()
_lock: Final = renewed_after_fork(RLock())  # a finalizer may compute while a pool is made
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
    """Return the number of threads of a kernel."""
    return _number


def set_num_threads(number: int) -> None:
    """Set the number of threads of kernels, at least 1."""
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
    number = _number
    if number == 1 or count < 2 or work < SHARED_FROM or _helper.is_one:
        function(0, count)
        return
    parts = min(number, count)
    ends = [count * part // parts for part in range(parts + 1)]
    first, *others = pairwise(ends)
    shared: list[tuple[Future[Any], tuple[int, int]]] = []
    interrupt: BaseException | None = None
    try:
        for piece in others:
            shared.append((_submit(function, *piece), piece))
        function(*first)
        for future, piece in shared:
            if future.cancel():  # the threads are busy with the work of another call
                function(*piece)
    finally:
        for future, _ in shared:
            future.cancel()
            while not future.done():
                try:
                    future.exception()
                except BaseException as error:
                    interrupt = error
        if interrupt is not None:
            raise interrupt
    for future, _ in shared:
        if not future.cancelled():
            future.result()


def _submit(function: Callable[[int, int], object], *piece: int) -> Future[Any]:
    """Let a thread of the pool compute a piece; make the pool if there is none."""
    global _pool
    from concurrent.futures import Future

    try:
        from concurrent.futures import ThreadPoolExecutor

        with _lock:
            if _pool is None:
                _pool = ThreadPoolExecutor(max(1, _number - 1), "dovetail_cpu", _become_helper)
            return _pool.submit(partial(copy_context().run, function, *piece))
    except RuntimeError:  # the interpreter ends, and starts no threads: the caller computes it
        return Future()


def _become_helper() -> None:
    _helper.is_one = True
