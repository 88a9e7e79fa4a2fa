"""Version counters: how often the data of a tensor and of its views was written in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .tensor_base import TensorBase


class VersionCounter:
    """A count of in-place writes, shared by a tensor, its views and what was detached from it.

    A tensor whose `_version` slot is None was never written and shares its data with no other: it
    is at version 0.
    """

    __slots__ = ("value",)

    def __init__(self, value: int = 0) -> None:
        self.value = value


class DetachedCounter(VersionCounter):
    """The counter, still shared, of a tensor that was detached from its graph in place.

    Seen through it, the version is another one than when a graph saved the tensor, whose place in
    that graph is gone. What is saved from now on compares with the new one.
    """

    __slots__ = ("_shared", "_times")

    def __init__(self, shared: VersionCounter) -> None:
        self._shared = shared
        self._times = DETACHED

    @property
    def value(self) -> int:
        """The count of writes, and far above it how often the tensor was detached in place."""
        return self._shared.value + self._times

    @value.setter
    def value(self, value: int) -> None:
        self._shared.value = value - self._times


class WritableCounter(VersionCounter):
    """The counter of what was detached, outside inference mode, from an inference tensor: it may be
    written there.
    """

    __slots__ = ()


DETACHED = 1 << 48
"""What one ``detach_()`` adds to a version; no tensor is written so often."""


def share_version(tensor: TensorBase) -> VersionCounter:
    """Return the counter of `tensor`, made if there is none yet, for another object to hold."""
    counter = tensor._counter
    if counter is None:
        counter = tensor._counter = VersionCounter()
    return counter


def bump_version(tensor: TensorBase | None) -> None:
    """Count one in-place write to `tensor`; None is an undefined tensor, which counts nothing."""
    try:
        counter = tensor._counter  # type: ignore[union-attr]  # asked only after the attribute
    except AttributeError:
        if tensor is None:
            return
        raise
    if counter is None:
        tensor._counter = VersionCounter(1)  # type: ignore[union-attr]  # it had a counter
    else:
        counter.value += 1
