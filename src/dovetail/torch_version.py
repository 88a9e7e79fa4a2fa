"""Versions that can be compared with strings and tuples, as in ``torch.torch_version``."""

from __future__ import annotations

import re

__all__ = ["TorchVersion"]


class TorchVersion(str):
    """A version string that is compared number by number.

    ``TorchVersion("2.13.0") > "2.9"`` and ``TorchVersion("2.13.0") >= (2, 13)`` are True. Suffixes
    such as ``+cpu`` or ``rc1`` are ignored.
    """

    __slots__ = ()

    def _numbers(self, other: object) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        if isinstance(other, str):
            theirs = _numbers_in(other)
        elif isinstance(other, tuple | list) and all([str(part).isdigit() for part in other]):
            theirs = tuple(int(part) for part in other)
        else:
            return None
        ours = _numbers_in(self)
        length = max(len(ours), len(theirs))
        return ours + (0,) * (length - len(ours)), theirs + (0,) * (length - len(theirs))

    def __eq__(self, other: object) -> bool:
        pair = self._numbers(other)
        return NotImplemented if pair is None else pair[0] == pair[1]

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: object) -> bool:
        pair = self._numbers(other)
        return NotImplemented if pair is None else pair[0] < pair[1]

    def __le__(self, other: object) -> bool:
        pair = self._numbers(other)
        return NotImplemented if pair is None else pair[0] <= pair[1]

    def __gt__(self, other: object) -> bool:
        pair = self._numbers(other)
        return NotImplemented if pair is None else pair[0] > pair[1]

    def __ge__(self, other: object) -> bool:
        pair = self._numbers(other)
        return NotImplemented if pair is None else pair[0] >= pair[1]

    def __hash__(self) -> int:
        return str.__hash__(self)


def _numbers_in(text: str) -> tuple[int, ...]:
    found = re.match(r"\d+(\.\d+)*", text)
    return tuple(int(part) for part in found[0].split(".")) if found else ()
