"""A `Library` for the duration of a block."""

from __future__ import annotations

from functools import partial
from typing import Any

from dovetail_kernel import DecoratingGuard

from . import library
from .library import Library


class _scoped_library(DecoratingGuard):
    """Create a `Library` for the duration of a ``with`` block; parameters are those of
    `Library`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._make = partial(Library, *args, **kwargs)
        self._made: list[Library] = []

    def save(self) -> int:
        """Return the number of libraries."""
        return len(self._made)

    def change(self) -> Library:
        """Make a library."""
        self._made.append(self._make())
        return self._made[-1]

    def restore(self, saved: int) -> None:
        """Destroy the library created since."""
        while len(self._made) > saved:
            self._made[-1]._destroy()
            self._made.pop()


vars(library)["_scoped_library"] = _scoped_library  # pickles name that place
