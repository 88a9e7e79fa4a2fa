"""Handles of transfers: `Work`, and `Future` for its tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from .waiting import Transfer


class Work:
    """A collective or message in progress. Do not use its tensors before `wait` returns.

    Parameters
    ----------
    transfer : Transfer
    finish : callable
        Called once after the transfer; copies values to the tensors.
    tensors : sequence of Tensor
        The tensors that `result` returns.
    """

    def __init__(
        self, transfer: Transfer, finish: Callable[[], object], tensors: Sequence[object] = ()
    ) -> None:
        self._transfer = transfer
        self._finish: Callable[[], object] | None = finish
        self._tensors = list(tensors)
        self._error: Exception | None = None

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait until the tensors have their values; return True.

        Parameters
        ----------
        timeout : timedelta, optional
            The longest time to wait. Default: the timeout of the group.

        Raises
        ------
        DistBackendError
            If the transfer fails; see `init_process_group`.
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
        """Return whether the tensors have their values, without waiting."""
        if self._transfer.poll():
            self._complete()
            return True
        return False

    def is_success(self) -> bool:
        """Return whether the transfer completed without an error."""
        return self._error is None and self.is_completed()

    def exception(self) -> Exception | None:
        """Return the error of a failed `wait`, or None."""
        return self._error

    def result(self) -> list[Any]:
        """Return the tensors; they have their values after `wait`."""
        return self._tensors

    def source_rank(self) -> int:
        """Return the rank of the sender of a received message, in the group."""
        if self._transfer.status is None:
            raise RuntimeError("source_rank() is for messages: work of isend or irecv")
        self.wait()
        source: int = self._transfer.status.source
        return source

    def get_future(self) -> Future:
        """Return a future of the tensors."""
        return Future._waiting(lambda: (self.wait(), self._tensors)[1])


class Future:
    """A value that is computed when `wait` is called.

    `then` returns a future of a function of the value; `set_result` sets the value at once.
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
        """Wait for the value, and return it."""
        if not self._is_done:
            if self._compute is None:
                raise RuntimeError("this Future has no value: call set_result() first")
            self.set_result(self._compute())
        return self._value

    value = wait

    def done(self) -> bool:
        """Return whether the value is available."""
        return self._is_done

    def set_result(self, result: object) -> None:
        """Give the value."""
        self._value, self._is_done, self._compute = result, True, None

    def then(self, callback: Callable[[Future], object]) -> Future:
        """Return a future of ``callback(self)``; its `wait` calls `callback`."""

        def compute() -> Any:
            self.wait()
            return callback(self)

        return Future._waiting(compute)
