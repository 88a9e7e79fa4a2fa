"""Filling of memory that a program has not written: ``torch.utils.deterministic``."""

from __future__ import annotations

import math
from typing import Final

from ..sockets import UNINITIALIZED_MEMORY
from .dtype import dtype
from .dtype_info import iinfo


class UninitializedMemory:
    """The settings of this process.

    Attributes
    ----------
    deterministic
        Whether operators must give the same bits each time. Default: False.
    fill
        Whether these fill the memory that they do not write. Default: True.
    is_filled
        Whether new memory is filled: both of them.
    """

    __slots__ = ("deterministic", "fill", "is_filled")

    def __init__(self) -> None:
        self.deterministic = False
        self.fill = True
        self.is_filled = False

    def change(self, *, deterministic: bool | None = None, fill: bool | None = None) -> None:
        """Change one of the settings."""
        if deterministic is not None:
            self.deterministic = deterministic
        if fill is not None:
            self.fill = fill
        self.is_filled = self.deterministic and self.fill
        for listener in UNINITIALIZED_MEMORY.plugs:
            listener(self.is_filled)


UNINITIALIZED: Final = UninitializedMemory()


def filler(kind: dtype) -> float | int | bool:
    """Return what fills memory: NaN, the greatest integer, or True."""
    if kind.is_floating_point or kind.is_complex:
        return math.nan
    if kind.name == "bool":
        return True
    return int(iinfo(kind).max)
