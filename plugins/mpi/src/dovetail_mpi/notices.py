"""Notices between processes: the collectives that they wait in, and that they end.

A process reads notices only after it has waited for a while, so they take no time otherwise.
"""

from __future__ import annotations

import pickle
from typing import Any, NamedTuple


class Notice(NamedTuple):
    """The last notice of a process.

    Attributes
    ----------
    generation
        The use of the communicator that the notice belongs to.
    begun
        Number of collectives that the process has begun.
    calls
        The last collectives, by number.
    left
        The reason why the process begins no more collectives, or None.
    """

    generation: int
    begun: int
    calls: dict[int, str]
    left: str | None = None


class NoticeBoard:
    """The notices of the processes of a group, on a separate communicator.

    Parameters
    ----------
    communicator : mpi4py.MPI.Comm
    generation : int
        Notices of other generations are ignored.
    """

    def __init__(self, communicator: Any, generation: int) -> None:
        self._communicator = communicator
        self._generation = generation
        self._sent: list[Any] = []
        self.notices: dict[int, Notice] = {}

    def post(self, begun: int, calls: dict[int, str], left: str | None = None) -> None:
        """Send a notice to all other processes, without waiting."""
        notice = pickle.dumps(tuple(Notice(self._generation, begun, calls, left)))
        self._sent = [sent for sent in self._sent if not sent.Test()]
        for rank in range(self._communicator.size):
            if rank != self._communicator.rank:
                self._sent.append(self._communicator.Isend(bytearray(notice), rank))

    def read(self) -> dict[int, Notice]:
        """Return the last notice of every process that sent one."""
        from mpi4py import MPI

        status = MPI.Status()
        while self._communicator.Iprobe(MPI.ANY_SOURCE, MPI.ANY_TAG, status):
            room = bytearray(status.Get_count(MPI.BYTE))
            self._communicator.Recv(room, status.source, status.tag)
            notice = Notice(*pickle.loads(room))
            if notice.generation == self._generation:
                self.notices[status.source] = notice
        return self.notices
