"""The memory of tensors that operators make, and that is freed while they run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from weakref import finalize

from dovetail_dispatcher import Span, open_span
from dovetail_kernel import TensorBase


class MemoryRecord:
    """Counts the bytes of every array that is first seen as the result of a span, and takes them
    from the span in which that array is freed.

    Memory that a kernel takes and frees inside is not seen, as it is none of a tensor.
    """

    def __init__(self) -> None:
        self.bytes: dict[Span, int] = {}
        self._alive: set[int] = set()
        self._watches: list[Any] = []

    def know(self, values: Iterable[object]) -> None:
        """Take tensors that were there before."""
        for tensor in tensors_in(values):
            self._watch(tensor)

    def count(self, span: Span, values: Iterable[object]) -> None:
        """Take tensors that `span` returned."""
        for tensor in tensors_in(values):
            self.bytes[span] = self.bytes.get(span, 0) + self._watch(tensor)

    def stop(self) -> None:
        """Watch nothing any more."""
        for watch in self._watches:
            watch.detach()
        self._watches.clear()
        self._alive.clear()

    def _watch(self, tensor: TensorBase) -> int:
        """Return the bytes of the memory of a tensor, 0 if it is known already."""
        owner = _owner(tensor)
        if owner is None or id(owner) in self._alive:
            return 0
        size = int(owner.nbytes)
        try:
            watch = finalize(owner, self._freed, id(owner), size)
        except TypeError:  # arrays that cannot be watched: memory of a file
            return 0
        watch.atexit = False
        self._alive.add(id(owner))
        self._watches.append(watch)
        return size

    def _freed(self, owner: int, size: int) -> None:
        self._alive.discard(owner)
        span = open_span.get()
        if span is not None:
            self.bytes[span] = self.bytes.get(span, 0) - size


def tensors_in(values: Iterable[object]) -> list[TensorBase]:
    """Return the tensors among some values, and in the lists among them."""
    found: list[TensorBase] = []
    for value in values:
        if isinstance(value, TensorBase):
            found.append(value)
        elif isinstance(value, list | tuple):
            found += [each for each in value if isinstance(each, TensorBase)]
    return found


def _owner(tensor: TensorBase) -> Any:
    """Return the array that owns the memory of a tensor, None on the meta device and the like."""
    array = getattr(tensor, "array", None)
    if not hasattr(array, "nbytes"):
        return None
    while type(base := getattr(array, "base", None)) is type(array):
        array = base
    return array
