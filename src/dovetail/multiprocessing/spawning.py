"""`spawn`: runs a function in several processes, and raises their errors."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import traceback
from collections.abc import Callable
from multiprocessing import connection
from typing import Any, Final

_GRACE: Final = 30.0
"""Seconds that processes have to end when they are asked to."""


class ProcessException(Exception):
    """Raised if one of the processes failed.

    Attributes
    ----------
    error_index
        Index of the process.
    error_pid
        The process id.
    """

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.error_pid = pid
        self.pid = pid

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """Raised if the function raised in one of the processes; the text has the traceback."""


class ProcessExitedException(ProcessException):
    """Raised if one of the processes exited with an error, or was ended by a signal.

    Attributes
    ----------
    exit_code
        The exit code.
    signal_name
        The signal that ended it, None if none did.
    """

    def __init__(
        self,
        msg: str,
        error_index: int,
        error_pid: int,
        exit_code: int,
        signal_name: str | None = None,
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self) -> Any:
        return type(self), (
            self.msg, self.error_index, self.pid, self.exit_code, self.signal_name,
        )  # fmt: skip


def _run(
    function: Callable[..., object], index: int, args: tuple[object, ...], errors: Any
) -> None:
    try:
        function(index, *args)
    except KeyboardInterrupt:
        pass  # the parent has it too
    except Exception:
        errors.send(traceback.format_exc())
        sys.exit(1)


class ProcessContext:
    """Processes that run one function.

    Attributes
    ----------
    processes
        The processes.
    """

    def __init__(self, processes: list[Any], errors: list[Any]) -> None:
        self.processes = processes
        self._errors = errors
        self.sentinels = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """Return the ids of the processes."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait for processes; when one fails, end the others and raise its error.

        Parameters
        ----------
        timeout
            Maximum number of seconds to wait. Default: until a process ends.
        grace_period
            Number of seconds after which the other processes are killed. Default: 30.

        Returns
        -------
        bool
            Whether all have ended.

        Raises
        ------
        ProcessRaisedException
            If the function raised.
        ProcessExitedException
            If a process exited with an error or a signal.
        """
        if not self.sentinels:
            return True
        failed = None
        for sentinel in connection.wait(list(self.sentinels), timeout=timeout):
            index = self.sentinels.pop(sentinel)
            self.processes[index].join()
            if self.processes[index].exitcode != 0 and failed is None:
                failed = index
        if failed is None:
            return not self.sentinels
        self._end(_GRACE if grace_period is None else grace_period)
        raise self._error_of(failed)

    def _end(self, grace_period: float) -> None:
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        for process in self.processes:
            process.join(grace_period)
            if process.is_alive():
                process.kill()
                process.join()

    def _error_of(self, index: int) -> ProcessException:
        process = self.processes[index]
        try:
            text = self._errors[index].recv()
        except EOFError:  # it has not come to say why
            text = None
        if text is not None:
            return ProcessRaisedException(
                f"\n\n-- Process {index} terminated with the following error:\n{text}",
                index,
                process.pid,
            )
        code = process.exitcode
        if code < 0:
            name = next(
                iter([each.name for each in signal.Signals if each == -code]), f"<unknown: {-code}>"
            )
            return ProcessExitedException(
                f"process {index} terminated with signal {name}", index, process.pid, code, name
            )
        return ProcessExitedException(
            f"process {index} terminated with exit code {code}", index, process.pid, code
        )


class SpawnContext(ProcessContext):
    """The result of `spawn`, under its old name."""


def start_processes(
    fn: Callable[..., object],
    args: tuple[object, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Call ``fn(index, *args)`` in `nprocs` processes.

    Parameters
    ----------
    fn
        A function of a module, which the processes can import.
    args
        Arguments after the process index. Tensors are shared.
    nprocs
        Number of processes.
    join
        Whether to wait for them. Default: True.
    daemon
        Whether the processes end with this process. Default: False.
    start_method
        ``"spawn"``, ``"fork"`` or ``"forkserver"``.

    Returns
    -------
    ProcessContext or None
        The processes, if `join` is False.

    Raises
    ------
    ProcessRaisedException, ProcessExitedException
        If a process fails and `join` is True; the other processes are ended.
    """
    context: Any = multiprocessing.get_context(start_method)
    processes, errors = [], []
    for index in range(nprocs):
        receiving, sending = context.Pipe(duplex=False)
        process = context.Process(target=_run, args=(fn, index, args, sending), daemon=daemon)
        process.start()
        sending.close()
        processes.append(process)
        errors.append(receiving)
    started = SpawnContext(processes, errors)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable[..., object],
    args: tuple[object, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Call ``fn(index, *args)`` in `nprocs` new processes; see `start_processes`."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)
