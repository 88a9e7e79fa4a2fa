"""`Transfer`: waits for a transfer up to the timeout of its group; the error names the missing
processes.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, Final

from .errors import DistBackendError

if TYPE_CHECKING:
    from collections.abc import Callable

    from .process_group import ProcessGroup

_BUSY: Final = 0.05
"""Seconds in which a waiting process asks again and again; then it sleeps between two questions."""
_PATIENCE: Final = 0.5
"""Seconds after which a waiting process tells the others so, and reads their notices."""
_yield: Callable[[], object] = getattr(os, "sched_yield", lambda: time.sleep(0))


class Transfer:
    """A collective or a message in progress.

    Parameters
    ----------
    group : ProcessGroup
    call : str
        Description of the collective, for error messages.
    number : int
        Number of the collective in the group; 0 for a message between two processes.
    request : mpi4py.MPI.Request
    peer : int, optional
        The other process of a message, as a rank of the group.
    """

    __slots__ = ("_group", "_peer", "_request", "call", "is_done", "number", "status")

    def __init__(
        self, group: ProcessGroup, call: str, number: int, request: Any, peer: int | None = None
    ) -> None:
        self._group = group
        self._request = request
        self._peer = peer
        self.call = call
        self.number = number
        self.is_done = False
        self.status: Any = None
        if number == 0:
            from mpi4py import MPI

            self.status = MPI.Status()

    def poll(self) -> bool:
        """Return whether the transfer is complete; this also advances pending transfers."""
        if not self.is_done and self._request.Test(self.status):
            self.is_done = True
        return self.is_done

    def wait(self, timeout: float | None = None) -> None:
        """Wait until the transfer is complete. Raises DistBackendError if another process ended, is
        in another collective, or does not arrive within `timeout` seconds (default: the timeout of
        the group). The group is unusable afterwards.
        """
        if self.poll():
            return
        self._group.check_usable()
        start = time.monotonic()
        limit = self._group.timeout if timeout is None else timeout
        has_told = False
        while not self.poll():
            waited = time.monotonic() - start
            if waited < _BUSY:
                _yield()
                continue
            time.sleep(1e-4 if waited < _PATIENCE else 1e-3)
            if waited > min(_PATIENCE, limit / 2):
                if not has_told:
                    self._group.tell()
                    has_told = True
                self._group.board.read()
                problem = self._mismatch() or self._departure()
                if problem is not None and not self.poll():
                    self._fail(problem)
            if waited > limit:
                self._fail(f"timed out after {limit:g} s. {self._silence()}")

    def _fail(self, problem: str) -> None:
        self._group.fail(f"rank {self._group.rank()}: {self.call} {problem}")
        raise DistBackendError(self._group.failure or "")

    def _mismatch(self) -> str | None:
        """Say which process is in another collective, if one is."""
        for rank, notice in self._group.board.notices.items():
            theirs = notice.calls.get(self.number, self.call) if self.number else self.call
            if theirs != self.call:
                return (
                    f"is collective {self.number} here, but rank {rank} called {theirs}. All ranks "
                    "of a group must call the same collectives in the same order, on tensors of "
                    "one shape and dtype; set_debug_level(DebugLevel.DETAIL) compares each call."
                )
        return None

    def _departure(self) -> str | None:
        """Say which process left before this collective or message, if one did."""
        for rank, notice in self._group.board.notices.items():
            is_awaited = self._peer in (None, rank) if self.number == 0 else True
            if notice.left is not None and is_awaited and notice.begun < (self.number or 1 << 62):
                return (
                    f"waits for rank {rank}, which {notice.left} after {notice.begun} collectives. "
                    "Give every rank as many batches (DistributedSampler), or train inside "
                    "DistributedDataParallel.join()."
                )
        return None

    def _silence(self) -> str:
        """Say what is known of the other processes."""
        others = [rank for rank in range(self._group.size()) if rank != self._group.rank()]
        notices = self._group.board.notices
        silent = [
            str(rank) for rank in others if rank not in notices or notices[rank].begun < self.number
        ]
        if not silent:
            return "All other ranks came; look at their errors, or give more time: timeout=."
        return (
            f"Not here: rank {', '.join(silent)}, which computes longer, hangs, or does not call "
            "this. Give more time if it computes: init_process_group(timeout=timedelta(...))."
        )
