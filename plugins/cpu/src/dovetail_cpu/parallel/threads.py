"""Threads that share the work of one kernel: the images of a convolution.

NumPy's loops let go of the interpreter while they run. The threads belong to this module: products
of matrices have those of BLAS, whose number is another setting of the process.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextvars import copy_context
from itertools import pairwise
from threading import Lock, RLock, Thread, local
from typing import TYPE_CHECKING, Final

from dovetail_kernel.fork_locks import call_in_child, renewed_after_fork

if TYPE_CHECKING:
    from queue import SimpleQueue

SHARED_FROM: Final = 1 << 19
"""Elements from which several threads pay: each step of a kernel waits for the interpreter, which
the other thread may have just then.
"""


class _Helper(local):
    """Whether this thread is one of the pool: what it computes is not shared once more."""

    is_one = False


class _Piece:
    """A part of a kernel's work, for the first thread that takes it."""

    __slots__ = ("_context", "_done", "_error", "_function", "_start", "_stop", "is_done", "take")

    def __init__(self, function: Callable[[int, int], object], start: int, stop: int) -> None:
        self._context, self._function = copy_context(), function
        self._start, self._stop = start, stop
        self._error: BaseException | None = None
        self.is_done = False
        self._done = Lock()
        self._done.acquire()
        self.take: Callable[[bool], bool] = Lock().acquire

    def compute(self) -> None:
        """Compute the piece, which this thread has taken, and keep an error for `result`."""
        try:
            self._context.run(self._function, self._start, self._stop)
        except BaseException as error:
            self._error = error
        finally:
            self.is_done = True
            self._done.release()

    def wait(self) -> None:
        """Wait until the thread that took the piece is done with it."""
        self._done.acquire()

    def check(self) -> None:
        """Raise the error of the piece."""
        if self._error is not None:
            raise self._error


_helper: Final = _Helper()
_lock: Final = renewed_after_fork(RLock())  # a finalizer may compute while a pool is made
_pool: SimpleQueue[_Piece | None] | None = None


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
        before, _pool = _pool, None
        helpers, _number = _number - 1, number
    if before is not None:
        for _ in range(helpers):
            before.put(None)


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
    pieces = [_Piece(function, *piece) for piece in pairwise(ends[1:])]
    pool = _pool or _new_pool()
    failed = True
    try:
        for piece in pieces:
            pool.put(piece)
        function(0, ends[1])
        failed = False
    finally:
        _complete(pieces, failed)
    for piece in pieces:
        piece.check()


def _complete(pieces: list[_Piece], failed: bool) -> None:
    """Compute the pieces that no thread has taken, unless the call has failed, and wait for those
    that others compute; an interrupt is raised when these are done.
    """
    interrupt: BaseException | None = None
    for piece in pieces:
        if piece.take(False):  # the others are busy with the work of another call
            if not failed:
                piece.compute()
            continue
        while not piece.is_done:
            try:
                piece.wait()
            except BaseException as error:
                interrupt = error
    if interrupt is not None:
        raise interrupt


def _new_pool() -> SimpleQueue[_Piece | None]:
    """Return where the threads of the pool wait for pieces; start them if there are none."""
    global _pool
    from queue import SimpleQueue

    with _lock:
        if _pool is None:
            _pool = SimpleQueue()
            for index in range(max(1, _number - 1)):
                Thread(
                    target=_help, args=(_pool,), name=f"dovetail_cpu_{index}", daemon=True
                ).start()
        return _pool


def _help(pool: SimpleQueue[_Piece | None]) -> None:
    """Compute the pieces that no other thread has taken, until there is None."""
    _helper.is_one = True
    while (piece := pool.get()) is not None:
        if piece.take(False):
            piece.compute()
        del piece  # holds arrays
