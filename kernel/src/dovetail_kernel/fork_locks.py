"""Locks in a process that forks: the child has one thread, for which no other lets go of a lock."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final, TypeVar
from weakref import WeakSet

AnyLock = TypeVar("AnyLock", bound=Any)

_PATIENCE: Final = 5.0
"""Seconds that a fork waits for a lock; then the child gets it new, what it guards as it is."""

_first: Final[list[Any]] = []
_held_over: Final[list[Any]] = []
_renewed: Final[WeakSet[Any]] = WeakSet()
_taken: Final[list[Any]] = []


def held_over_fork(lock: AnyLock, *, first: bool = False) -> AnyLock:
    """Return `lock`, an RLock, which a fork waits for, so that the child finds what it guards
    whole.

    A thread that holds a lock calls what is lower, and so may take one that came here before. A
    fork takes them in the same order, or it would wait for a thread that waits for it: the last
    that came goes first. `first` is for a lock under which what is higher is called: it goes before
    all that are not.
    """
    (_first if first else _held_over).insert(0, lock)
    return lock


def renewed_after_fork(lock: AnyLock) -> AnyLock:
    """Return `lock`, which is free in a child: every prefix of what is done under it is whole."""
    _renewed.add(lock)
    return lock


def call_in_child(function: Callable[[], object]) -> None:
    """Call `function` in every child, before anything else runs there."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=function)


def _take() -> None:
    for lock in _first + _held_over:
        if lock.acquire(timeout=_PATIENCE):
            _taken.append(lock)


def _let_go() -> None:
    while _taken:
        _taken.pop().release()


def _start_child() -> None:
    taken = set(map(id, _taken))
    _let_go()
    for lock in [*_renewed, *[each for each in _first + _held_over if id(each) not in taken]]:
        lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_take, after_in_parent=_let_go, after_in_child=_start_child)


__all__ = ["call_in_child", "held_over_fork", "renewed_after_fork"]
