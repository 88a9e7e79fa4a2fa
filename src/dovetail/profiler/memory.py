"""Memory of tensors created and freed by operators."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from weakref import finalize

from dovetail_dispatcher import Span, open_span
from dovetail_kernel import TensorBase


class MemoryRecord:
    """Adds the bytes of a new array to the span that returns it, and subtracts them from the span
    in which it is freed.

    Temporary memory inside a kernel is not counted.
    """

    def __init__(self) -> None:
        self.bytes: dict[Span, int] = {}
        self._alive: set[int] = set()
        self._watches: list[Any] = []

    def know(self, values: Iterable[object]) -> None:
        """Register existing tensors."""
        for tensor in tensors_in(values):
            self._watch(tensor)

    def count(self, span: Span, values: Iterable[object]) -> None:
        """Count tensors returned by `span`."""
        for tensor in tensors_in(values):
            self.bytes[span] = self.bytes.get(span, 0) + self._watch(tensor)

    def stop(self) -> None:
        """Stop counting."""
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
