"""Notify the other processes when a process ends, so that none waits for it."""

from __future__ import annotations

import atexit
import os
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .process_group import ProcessGroup

_groups: list[ProcessGroup] = []
_process = -1
_SECONDS_TO_READ: Final = 0.5
"""For mpiexec, which does not show what it has not read when a program is aborted."""


def watch_exit(group: ProcessGroup) -> None:
    """Notify the processes of `group` when this process ends.

    If it ends with an exception, or after a failed transfer, it ends the whole program (MPI_Abort),
    since others may wait for it anywhere. Otherwise it notifies the processes that wait.
    """
    global _process
    if group.size() == 1:
        return
    if _process != os.getpid():
        _process = os.getpid()
        _groups.clear()
        atexit.register(_at_exit)
        sys.excepthook = _aborting(sys.excepthook)
    _groups[:] = [each for each in _groups if not each.is_destroyed]
    _groups.append(group)


def _at_exit() -> None:
    if os.getpid() != _process:  # a fork has no part in MPI
        return
    if any([group.failure is not None and not group.is_destroyed for group in _groups]):
        _abort()
    for group in _groups:
        if not group.is_destroyed:
            group.tell("ended its program")


def _aborting(shown: Callable[..., object]) -> Callable[..., Any]:
    def show_and_abort(
        kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        shown(kind, error, trace)
        if os.getpid() == _process and any([not group.is_destroyed for group in _groups]):
            _abort()

    return show_and_abort


def _abort() -> None:
    """End all processes of the program."""
    from mpi4py import MPI

    sys.stdout.flush()
    sys.stderr.flush()
    time.sleep(_SECONDS_TO_READ)
    MPI.COMM_WORLD.Abort(1)
