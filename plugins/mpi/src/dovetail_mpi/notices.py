"""What processes tell each other while they wait: in what, and that they leave.

No process looks at notices unless it has waited for a while, so that they cost nothing otherwise.
"""

from __future__ import annotations

import pickle
from typing import Any, NamedTuple

__all__ = ["Notice", "NoticeBoard"]


class Notice(NamedTuple):
    """What a process said last.

    Attributes
    ----------
    generation
        Which use of the communicator it belongs to.
    begun
        How many collectives the process has begun.
    calls
        The last of them, by their numbers.
    left
        Why it will begin no more; None if it may.
    """

    generation: int
    begun: int
    calls: dict[int, str]
    left: str | None = None


class NoticeBoard:
    """The notices of the processes of a group, over a communicator of its own.

    Parameters
    ----------
    communicator : mpi4py.MPI.Comm
    generation : int
        Notices of another one are passed over.
    """

    def __init__(self, communicator: Any, generation: int) -> None:
        self._communicator = communicator
        self._generation = generation
        self._sent: list[Any] = []
        self.notices: dict[int, Notice] = {}

    def post(self, begun: int, calls: dict[int, str], left: str | None = None) -> None:
        """Tell all others; waits for none of them."""
        notice = pickle.dumps(tuple(Notice(self._generation, begun, calls, left)))
        self._sent = [sent for sent in self._sent if not sent.Test()]
        for rank in range(self._communicator.size):
            if rank != self._communicator.rank:
                self._sent.append(self._communicator.Isend(bytearray(notice), rank))

    def read(self) -> dict[int, Notice]:
        """Return the last notice of every process that gave one."""
        from mpi4py import MPI

        status = MPI.Status()
        while self._communicator.Iprobe(MPI.ANY_SOURCE, MPI.ANY_TAG, status):
            room = bytearray(status.Get_count(MPI.BYTE))
            self._communicator.Recv(room, status.source, status.tag)
            notice = Notice(*pickle.loads(room))
            if notice.generation == self._generation:
                self.notices[status.source] = notice
        return self.notices
