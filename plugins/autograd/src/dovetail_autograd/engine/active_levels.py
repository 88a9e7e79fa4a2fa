"""The transforms in force, kept apart from what they are made of: asking whether there are any
loads nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from ..transforms.levels import Level

_levels: ContextVar[tuple[Level, ...]] = ContextVar("dovetail_transform_levels", default=())

active_levels: Final[Callable[[], tuple[Level, ...]]] = _levels.get
"""Return the levels that this task is in, outermost first."""

set_active_levels: Final[Callable[[tuple[Level, ...]], Any]] = _levels.set


def is_in_transform() -> bool:
    """Return whether a function is being transformed, so that its graph must not be taken over from
    inside.
    """
    return any([level.transforms_function for level in _levels.get()])
