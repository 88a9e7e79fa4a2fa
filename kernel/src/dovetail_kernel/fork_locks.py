"""Locks in a process that forks: the child has one thread, for which no other lets go of a lock."""

from __future__ import annotations

import os
from _thread import _count as threads_but_main
from collections.abc import Callable
from functools import wraps
from threading import RLock, get_ident
from time import monotonic, sleep
from typing import Any, Final, ParamSpec, TypeVar
from weakref import WeakSet

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
AnyLock = TypeVar("AnyLock", bound=Any)

_PATIENCE: Final = 5.0
"""Seconds that a fork waits for a lock; then the child gets it new, what it guards as it is."""

_LONG_PATIENCE: Final = 60.0
"""Seconds that a fork waits for calls of native libraries, one of which may take long itself."""

_held_over: Final[list[tuple[int, Any]]] = []
"""Locks with their levels, highest first."""
_renewed: Final[WeakSet[Any]] = WeakSet()
_taken: Final[list[Any]] = []


def held_over_fork(lock: AnyLock, level: int) -> AnyLock:
    """Return `lock`, an RLock, which a fork waits for, so that the child finds what it guards
    whole.

    A thread that holds a lock may take those of lower levels. A fork takes the locks in the same
    order, or it would wait for a thread that waits for it.
    """
    _held_over.append((level, lock))
    _held_over.sort(key=lambda each: each[0], reverse=True)
    return lock


def renewed_after_fork(lock: AnyLock) -> AnyLock:
    """Return `lock`, which is free in a child: every prefix of what is done under it is whole."""
    _renewed.add(lock)
    return lock


def outside_forks(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Return `function`, of a native library that has threads and locks of its own, so that a fork
    waits for every call of it, and no call begins during a fork.

    Otherwise the child may wait for a thread that it has not got, and the parent for threads that
    the library ends before a fork. `function` must not wait for other threads of Python.
    """

    @wraps(function)
    def compute(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        if not threads_but_main():  # no other thread could fork
            return function(*args, **kwargs)
        thread = get_ident()
        _computing[thread] = None
        while _fork.thread not in (None, thread):
            del _computing[thread]
            with _fork.lock:
                _computing[thread] = None
        try:
            return function(*args, **kwargs)
        finally:
            _computing.pop(thread, None)

    return compute


class _Fork:
    """The thread that forks now, if one does, and the lock that it holds meanwhile."""

    def __init__(self) -> None:
        self.lock = RLock()
        self.thread: int | None = None

    def begin(self) -> None:
        """Wait until no other thread calls a native library."""
        self.lock.acquire()
        self.thread = get_ident()
        own, latest = {self.thread}, monotonic() + _LONG_PATIENCE
        while set(_computing) - own and monotonic() < latest:
            sleep(0.0005)

    def end(self) -> None:
        """Let calls begin."""
        self.thread = None
        self.lock.release()

    def end_in_child(self) -> None:
        """Let calls begin, where no other thread is left that made one."""
        _computing.clear()
        self.end()


_computing: Final[dict[int, None]] = {}
"""Threads that call a native library."""
_fork: Final = _Fork()


def call_in_child(function: Callable[[], object]) -> None:
    """Call `function` in every child, before anything else runs there."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=function)


def _take() -> None:
    for _, lock in _held_over:
        if lock.acquire(timeout=_PATIENCE):
            _taken.append(lock)


def _let_go() -> None:
    while _taken:
        _taken.pop().release()


def _start_child() -> None:
    taken = set(map(id, _taken))
    _let_go()
    for lock in [*_renewed, *[each for _, each in _held_over if id(each) not in taken]]:
        lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    # The first that is registered begins last: a thread that waits at it may hold any of the locks.
    os.register_at_fork(
        before=_fork.begin, after_in_parent=_fork.end, after_in_child=_fork.end_in_child
    )
    os.register_at_fork(before=_take, after_in_parent=_let_go, after_in_child=_start_child)
