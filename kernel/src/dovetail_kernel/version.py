"""Version counters: how often the data of a tensor, and of whatever shares it, was written in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .tensor_base import TensorBase


class VersionCounter:
    """A count of in-place writes, shared by a tensor, its views and what was detached from it.

    A tensor whose `_version` slot is None was never written and shares its data with nobody: it is at version 0.
    """

    __slots__ = ("value",)

    def __init__(self, value: int = 0) -> None:
        self.value = value


def share_version(tensor: TensorBase) -> VersionCounter:
    """Return the counter of `tensor`, which exists from now on because somebody else is going to hold it."""
    counter = tensor._counter
    if counter is None:
        counter = tensor._counter = VersionCounter()
    return counter


def bump_version(tensor: TensorBase) -> None:
    """Count one in-place write to `tensor`."""
    counter = tensor._counter
    if counter is None:
        tensor._counter = VersionCounter(1)
    else:
        counter.value += 1
