"""Words of a generator that were drawn ahead, and what numbers they make: computed for all of them
at once, when the first are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Final

import numpy as np

__all__ = ["WordsAhead"]

Array = np.ndarray[Any, Any]

_FORMS: Final = 8
"""Of so many kinds of numbers those of one block are kept."""


class WordsAhead:
    """A block of words in the order in which they are drawn.

    Parameters
    ----------
    words
        The words, as uint64.
    origin
        The position of the first one in what they were drawn from; default: None, where the one
        behind the last says as much.

    Attributes
    ----------
    at
        How many of them have been drawn.
    """

    __slots__ = ("_forms", "at", "origin", "words")

    def __init__(self, words: Array, origin: Any = None) -> None:
        self.words = words
        self.origin = origin
        self.at = 0
        self._forms: dict[Hashable, Array] = {}

    @property
    def left(self) -> int:
        """Return how many have not been drawn."""
        return self.words.size - self.at

    def draw(self, count: int) -> Array:
        """Return the next `count` words."""
        start = self.at
        self.at = start + count
        return self.words[start : self.at].copy()

    def made(
        self,
        start: int,
        count: int,
        kind: Hashable,
        make: Callable[[Array], Array],
        group: int = 1,
        each: int = 1,
    ) -> Array:
        """Return the numbers of `count` words from `start` on.

        Parameters
        ----------
        kind
            Stands for `make`.
        make
            Returns the numbers of words, which are its own: of every `group` of words `each`
            numbers, which depend on these words alone. Default: a number of every word.
        """
        first = start % group
        numbers = self._forms.get((kind, first))
        if numbers is None:
            if len(self._forms) == _FORMS:
                self._forms.clear()
            whole = (self.words.size - first) // group * group
            numbers = self._forms[kind, first] = make(self.words[first : first + whole].copy())
        begin = (start - first) * each // group
        return numbers[begin : begin + count * each // group].copy()
