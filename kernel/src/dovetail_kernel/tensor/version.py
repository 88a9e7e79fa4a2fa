"""Version counters: how often the data of a tensor and of its views was written in place."""

from __future__ import annotations

from contextvars import ContextVar
from itertools import count
from typing import TYPE_CHECKING, Final

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


class SharedCounter(VersionCounter):
    """A counter that is another one seen from elsewhere.

    Attributes
    ----------
    shared
        The other counter.
    """

    __slots__ = ("shared",)

    def __init__(self, shared: VersionCounter) -> None:
        self.shared = shared

    @property
    def value(self) -> int:
        """The count of writes."""
        return self.shared.value

    @value.setter
    def value(self, value: int) -> None:
        self.shared.value = value


class DetachedCounter(SharedCounter):
    """The counter, still shared, of a tensor that was detached from its graph in place.

    Seen through it, the version is another one than when a graph saved the tensor, whose place in
    that graph is gone. What is saved from now on compares with the new one.
    """

    __slots__ = ("_times",)

    def __init__(self, shared: VersionCounter) -> None:
        self.shared = shared
        self._times = DETACHED

    @property
    def value(self) -> int:
        """The count of writes, and far above it how often the tensor was detached in place."""
        return self.shared.value + self._times

    @value.setter
    def value(self, value: int) -> None:
        self.shared.value = value - self._times


class WritableCounter(VersionCounter):
    """The counter of what was detached, outside inference mode, from an inference tensor: it may be
    written there.
    """

    __slots__ = ()


class InsideCounter(VersionCounter):
    """The counter of memory that was made inside of a function transform.

    Attributes
    ----------
    made
        The number of the transform that was entered last before.
    """

    __slots__ = ("made",)

    def __init__(self, made: int, value: int = 0) -> None:
        self.value = value
        self.made = made


class InputCounter(SharedCounter):
    """The counter, still shared, of an input of a function transform: there it may be written.

    Attributes
    ----------
    made
        The number of the transform.
    shared
        The counter of what was given to the transform.
    """

    __slots__ = ("made",)

    def __init__(self, made: int, shared: VersionCounter) -> None:
        self.shared = shared
        self.made = made


class PrimalCounter(SharedCounter):
    """The counter, still shared, of a dual tensor: a write to that is one to its primal, which
    counts it.
    """

    __slots__ = ()

    @property
    def value(self) -> int:
        """The count of writes."""
        return self.shared.value

    @value.setter
    def value(self, value: int) -> None:
        """Do nothing."""


_new: Final = object.__new__
_numbers: Final = count(1)
_last_number = 0


def next_transform() -> int:
    """Return the number of a function transform that is being entered: a higher one each time."""
    global _last_number
    _last_number = number = next(_numbers)
    return number


def inside_counter() -> VersionCounter:
    """Return a counter for memory that was just made inside of a function transform."""
    counter = _new(InsideCounter)  # every result in a transform has one: without a call of __init__
    counter.value = 0
    counter.made = _last_number
    return counter


def detach_version(counter: VersionCounter | None) -> VersionCounter | None:
    """Return a count of its own for the memory that `counter` is of; None if it was made outside of
    every transform.
    """
    while isinstance(counter, (DetachedCounter, PrimalCounter)):
        counter = counter.shared
    if isinstance(counter, InputCounter):
        return InputCounter(counter.made, detach_version(counter.shared) or VersionCounter())
    return InsideCounter(counter.made) if isinstance(counter, InsideCounter) else None


def is_known_to(transform: int, counter: VersionCounter | None) -> bool:
    """Return whether the memory with `counter` is an input of the transform with that number, or
    was made inside of it.
    """
    while isinstance(counter, SharedCounter) and not (
        isinstance(counter, InputCounter) and counter.made <= transform
    ):
        counter = counter.shared
    return isinstance(counter, (InsideCounter, InputCounter)) and counter.made >= transform


kernel_writes: Final[ContextVar[bool]] = ContextVar("dovetail_kernel_writes", default=False)
"""Whether writes are part of a kernel, to memory that no gradient goes through: transforms that
differentiate a function let such writes to captured tensors pass."""

DETACHED = 1 << 48
"""What one ``detach_()`` adds to a version; no tensor is written so often."""


def share_version(tensor: TensorBase) -> VersionCounter:
    """Return the version counter of `tensor`, to share with another object; create it if
    missing.
    """
    counter = tensor._counter
    if counter is None:
        counter = tensor._counter = _new(VersionCounter)  # every view asks: without __init__
        counter.value = 0
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
