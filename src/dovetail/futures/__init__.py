"""Values that are set later, as in ``torch.futures``: `Future`, `collect_all`, `wait_all`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Condition
from typing import Any, Generic, TypeVar

from ..names.missing import serve_names as _serve_names

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")
S = TypeVar("S")


class Future(Generic[T]):
    """A value or an error that is set once, and that any thread can wait for.

    Parameters
    ----------
    devices
        Accepted and ignored: values are passed on unchanged.
    """

    def __init__(self, *, devices: Sequence[object] | None = None) -> None:
        self._changed = Condition()
        self._done = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[], None]] = []

    def done(self) -> bool:
        """Return whether the value or an error is set."""
        return self._done

    def wait(self) -> T:
        """Wait for the value and return it.

        Raises
        ------
        BaseException
            The error that was set instead.
        """
        with self._changed:
            self._changed.wait_for(self.done)
        return self.value()

    def value(self) -> T:
        """Return the value, which must be set.

        Raises
        ------
        RuntimeError
            If it is not.
        BaseException
            The error that was set instead.
        """
        if not self._done:
            raise RuntimeError("the value of this Future is not there yet. Call wait().")
        if self._error is not None:
            raise self._error
        found: T = self._value
        return found

    def set_result(self, result: T) -> None:
        """Set the value, and run the callbacks.

        Raises
        ------
        RuntimeError
            If a value or an error is already set.
        """
        self._complete(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Set an error, which `wait` raises.

        Raises
        ------
        AssertionError
            If it is not an exception.
        RuntimeError
            If a value or an error is already set.
        """
        if not isinstance(result, BaseException):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._complete(None, result)

    def _complete(self, value: object, error: BaseException | None) -> None:
        with self._changed:
            if self._done:
                raise RuntimeError(
                    "Attempting to mark a completed Future as complete again. Note that a Future "
                    "can only be marked completed once."
                )
            self._value, self._error, self._done = value, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._changed.notify_all()
        for callback in callbacks:
            callback()

    def _when_done(self, callback: Callable[[], None]) -> None:
        with self._changed:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback()

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """Return a future for the result of `callback` on this future. An error in the callback
        becomes the cause of a RuntimeError.

        Parameters
        ----------
        callback
            Function of this future. It runs in the thread that sets the value, or immediately if
            the value is set.
        """
        following: Future[S] = Future()

        def run() -> None:
            try:
                made = callback(self)
            except BaseException as error:
                words = f"Got the following error when running the callback: {error!r}"
                raised = RuntimeError(words)
                raised.__cause__ = error
                following.set_exception(raised)
            else:
                following.set_result(made)

        self._when_done(run)
        return following

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Call `callback` with this future once it is done; an error in the callback is only
        printed.
        """

        def run() -> None:
            try:
                callback(self)
            except Exception:
                from traceback import print_exc

                print_exc()

        self._when_done(run)


def collect_all(futures: Sequence[Future[object]]) -> Future[list[Future[Any]]]:
    """Return a future that is done when all `futures` are done.

    Parameters
    ----------
    futures
        Futures; their errors are raised on access to their values.
    """
    together: Future[list[Future[Any]]] = Future()
    given = list(futures)
    if not given:
        together.set_result(given)
    lock = Condition()
    waiting = [len(given)]

    def one_is_done() -> None:
        with lock:
            waiting[0] -= 1
            is_last = waiting[0] == 0
        if is_last:
            together.set_result(given)

    for each in given:
        each._when_done(one_is_done)
    return together


def wait_all(futures: Sequence[Future[object]]) -> list[Any]:
    """Wait for all `futures`, and return their values; the first error is raised."""
    return [each.value() for each in collect_all(futures).wait()]


_serve_names(__name__)
