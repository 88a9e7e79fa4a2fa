"""Checks of keys of dicts and sets in files: allowed types, cheap hashing, and few hash
collisions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail_kernel import Device, dtype

from .checked_json import FormatError

_MOST_NODES: Final = 1000
_MOST_OF_ONE_HASH: Final = 100
_PYTHON_HASHES_MODULO: Final = 2**61 - 1
_KEYS: Final = (str, int, float, complex, bool, bytes, type(None), dtype, Device)
_HASHED_BY_SECRET: Final = (str, bytes)


class KeyChecks:
    """Checks keys before they are hashed, and limits the number of equal hashes in a container.

    A malicious file can contain many integers or tuples with equal hashes, each of which is
    compared with all others. Hashes of strings are randomized per process.
    """

    def __init__(self) -> None:
        self._counts: dict[tuple[int, int], int] = {}

    def check(self, key: Any, container: int, is_trusted: Callable[[Any], bool]) -> None:
        """Raise an error for a `key` that is not hashable, or that is expensive to hash or look up.

        Parameters
        ----------
        key : object
        container : int
            Identity of the dict or set.
        is_trusted : callable
            True for objects of other classes that may be keys.

        Raises
        ------
        FormatError
            If the key is refused.
        """
        if type(key) in _HASHED_BY_SECRET:
            return
        if type(key) is int and -_PYTHON_HASHES_MODULO < key < _PYTHON_HASHES_MODULO:
            return
        rest, count = [key], 0
        while rest:
            each = rest.pop()
            count += 1
            if isinstance(each, tuple | frozenset):
                if count + len(rest) + len(each) > _MOST_NODES:
                    raise FormatError(f"a key of a dict or set has more than {_MOST_NODES} parts")
                rest += each
            elif not isinstance(each, _KEYS) and not is_trusted(each):
                raise FormatError(f"a {type(each).__name__} is no key of a dict or set")
        place = container, hash(key)
        self._counts[place] = self._counts.get(place, 0) + 1
        if self._counts[place] > _MOST_OF_ONE_HASH:
            raise FormatError(f"a dict or set has more than {_MOST_OF_ONE_HASH} keys of one hash")
