"""Handles of transfers that were begun: `Work`, and `Future` for what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from .waiting import Transfer

__all__ = ["Future", "Work"]


class Work:
    """A collective or a message under way; its tensors may not be touched before `wait`.

    Parameters
    ----------
    transfer : Transfer
    finish : callable
        Called once when the transfer is done: puts the values where they belong.
    tensors : sequence of Tensor
        What `result` returns.
    """

    def __init__(
        self, transfer: Transfer, finish: Callable[[], object], tensors: Sequence[object] = ()
    ) -> None:
        self._transfer = transfer
        self._finish: Callable[[], object] | None = finish
        self._tensors = list(tensors)
        self._error: Exception | None = None

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Return True when the tensors have their values.

        Parameters
        ----------
        timeout : timedelta, optional
            How long at most; default: the group's.

        Raises
        ------
        DistBackendError
            If that fails: see `init_process_group`.
        """
        try:
            self._transfer.wait(None if timeout is None else timeout.total_seconds())
        except Exception as error:
            self._error = error
            raise
        self._complete()
        return True

    synchronize = wait

    def _complete(self) -> None:
        finish, self._finish = self._finish, None
        if finish is not None:
            finish()

    def is_completed(self) -> bool:
        """Return whether the tensors have their values; waits for nothing."""
        if self._transfer.poll():
            self._complete()
            return True
        return False

    def is_success(self) -> bool:
        """Return whether it is completed without an error."""
        return self._error is None and self.is_completed()

    def exception(self) -> Exception | None:
        """Return the error of a `wait` that failed, or None."""
        return self._error

    def result(self) -> list[Any]:
        """Return the tensors, which have their values once `wait` returned."""
        return self._tensors

    def source_rank(self) -> int:
        """Return the rank that a received message came from, within the group."""
        if self._transfer.status is None:
            raise RuntimeError("source_rank() is for messages: work of isend or irecv")
        self.wait()
        source: int = self._transfer.status.source
        return source

    def get_future(self) -> Future:
        """Return a future of the tensors."""
        return Future._waiting(lambda: (self.wait(), self._tensors)[1])


class Future:
    """A value that comes later; it is computed when it is waited for.

    `then` makes a future of what a function makes of it, `set_result` gives a value at once.
    """

    def __init__(self) -> None:
        self._compute: Callable[[], Any] | None = None
        self._value: Any = None
        self._is_done = False

    @classmethod
    def _waiting(cls, compute: Callable[[], object]) -> Future:
        future = cls()
        future._compute = compute
        return future

    def wait(self) -> Any:
        """Return the value, when it is there."""
        if not self._is_done:
            if self._compute is None:
                raise RuntimeError("this Future has no value: call set_result() first")
            self.set_result(self._compute())
        return self._value

    value = wait

    def done(self) -> bool:
        """Return whether the value is there."""
        return self._is_done

    def set_result(self, result: object) -> None:
        """Give the value."""
        self._value, self._is_done, self._compute = result, True, None

    def then(self, callback: Callable[[Future], object]) -> Future:
        """Return the future of ``callback(self)``, which is called when that is waited for."""

        def compute() -> Any:
            self.wait()
            return callback(self)

        return Future._waiting(compute)
