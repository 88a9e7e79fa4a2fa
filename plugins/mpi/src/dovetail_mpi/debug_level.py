"""`DebugLevel`: which checks processes make of each other."""

from __future__ import annotations

import os
from enum import Enum
from typing import Final


class DebugLevel(Enum):
    """With OFF and INFO, collectives are not checked beforehand; with DETAIL, ranks compare every
    collective before it begins.
    """

    OFF = 0
    INFO = 1
    DETAIL = 2


_VARIABLE: Final = "TORCH_DISTRIBUTED_DEBUG"
_level: DebugLevel


def get_debug_level() -> DebugLevel:
    """Return the current level."""
    return _level


def set_debug_level(level: DebugLevel) -> None:
    """Set the level, which must be the same in all processes."""
    global _level
    if not isinstance(level, DebugLevel):
        raise TypeError(f"level should be a DebugLevel, not {level!r}")
    _level = level


def set_debug_level_from_env() -> None:
    """Set the level to that of the environment variable ``TORCH_DISTRIBUTED_DEBUG``."""
    name = os.environ.get(_VARIABLE, "OFF").upper()
    if name not in DebugLevel.__members__:
        raise RuntimeError(
            f"The value of {_VARIABLE} must be OFF, INFO, or DETAIL, but is {name!r}. Unset it."
        )
    set_debug_level(DebugLevel[name])


set_debug_level_from_env()
