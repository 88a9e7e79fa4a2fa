"""`ProcessGroup`: processes, their communicators, and the collectives begun so far."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from .debug_level import DebugLevel, get_debug_level
from .errors import DistBackendError
from .notices import NoticeBoard
from .waiting import Transfer


class Communicators(NamedTuple):
    """The communicators of a group, between the same processes.

    Collectives of different families use different communicators, so that MPI does not match a
    reduction with a barrier of another process: both wait, and detect the mismatch.
    """

    reducing: Any
    copying: Any
    collecting: Any
    meeting: Any
    noticing: Any

    @classmethod
    def like(cls, communicator: Any) -> Communicators:
        """Return new communicators between the processes of `communicator`; all of them call this
        method.
        """
        return cls(*(communicator.Dup() for _ in cls._fields))


class ProcessGroup:
    """Processes that call collectives together.

    `init_process_group` and `new_group` create it.

    Parameters
    ----------
    communicators : Communicators
    ranks : tuple of int
        The ranks of its processes among all processes, ordered by rank in this group.
    timeout : float
        Seconds to wait for another process.
    name : str
    generation : int
    """

    def __init__(
        self,
        communicators: Communicators,
        ranks: tuple[int, ...],
        timeout: float,
        name: str,
        generation: int,
    ) -> None:
        self.communicators = communicators
        self.ranks = ranks
        self.timeout = timeout
        self.group_name = name
        self.group_desc = name
        self.failure: str | None = None
        self.is_destroyed = False
        self.board = NoticeBoard(communicators.noticing, generation)
        self._begun = 0
        self._calls: deque[tuple[int, str]] = deque(maxlen=16)
        self.statistics = {"collectives": 0, "messages": 0, "bytes": 0}
        """How many collectives and messages this process began, and the bytes that it gave."""

    def rank(self) -> int:
        """Return the rank of this process in the group."""
        rank: int = self.communicators.reducing.rank
        return rank

    def size(self) -> int:
        """Return the number of processes."""
        return len(self.ranks)

    def name(self) -> str:
        """Return the backend's name."""
        return "mpi"

    def __repr__(self) -> str:
        return f"<ProcessGroup {self.group_name}: rank {self.rank()} of {self.size()}>"

    # -- what is begun -----------------------------------------------------------------------------

    def begin(self, call: str, size: int, start: Callable[[], object]) -> Transfer:
        """Begin a collective.

        Parameters
        ----------
        call : str
            Description of the collective; the same in all processes.
        size : int
            Number of bytes that this process contributes.
        start : callable
            Starts the transfer, and returns the request of MPI.

        Raises
        ------
        DistBackendError
            If a transfer in the group failed before; with `DebugLevel.DETAIL`, if another process
            is in another collective.
        """
        self.check_usable()
        self._begun += 1
        self._calls.append((self._begun, call))
        self.statistics["collectives"] += 1
        self.statistics["bytes"] += size
        if get_debug_level() is DebugLevel.DETAIL:
            self._compare(call)
        return Transfer(self, call, self._begun, start())

    def begin_message(
        self, call: str, size: int, start: Callable[[], object], peer: int | None
    ) -> Transfer:
        """Begin to send or receive a message; like `begin`."""
        self.check_usable()
        self.statistics["messages"] += 1
        self.statistics["bytes"] += size
        return Transfer(self, call, 0, start(), peer)

    def _compare(self, call: str) -> None:
        """Compare the call with those of the others, as all do."""
        import numpy as np

        mine = np.zeros(256, np.uint8)
        text = call.encode()[:256]
        mine[: len(text)] = np.frombuffer(text, np.uint8)
        every = np.empty((self.size(), 256), np.uint8)
        request = self.communicators.noticing.Iallgather(mine, every)
        Transfer(self, call, self._begun, request).wait()
        for rank, line in enumerate(every):
            theirs = line.tobytes().rstrip(b"\0").decode(errors="replace")
            if theirs != text.decode(errors="replace"):
                self.fail(
                    f"Detected mismatch between collectives on ranks. Rank {self.rank()} is "
                    f"running collective {self._begun}: {call}, but rank {rank} is running: "
                    f"{theirs}. Call the same collectives in the same order on all ranks."
                )
                self.check_usable()

    # -- what failed -------------------------------------------------------------------------------

    def fail(self, problem: str) -> None:
        """Mark the group as unusable, because of `problem`."""
        if self.failure is None:
            self.failure = problem

    def check_usable(self) -> None:
        """Raise DistBackendError after a failed transfer."""
        if self.failure is not None:
            raise DistBackendError(self.failure)

    def tell(self, left: str | None = None) -> None:
        """Notify the other processes of the collectives that this process has begun, and of `left`,
        the reason why it begins no more.
        """
        if self.size() > 1:
            self.board.post(self._begun, dict(self._calls), left)

    def close(self) -> None:
        """Notify the other processes that this process begins no more collectives."""
        if self.failure is None:
            self.tell("destroyed the process group")
            self.is_destroyed = True
        self.fail(
            f"the process group {self.group_name!r} was destroyed: call init_process_group() or "
            "new_group() for another"
        )
