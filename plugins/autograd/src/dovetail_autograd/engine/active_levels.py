"""The transforms in force, apart from the modules that make them: to ask whether there are any
loads nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, ClassVar, Final, Protocol


class ActiveLevel(Protocol):
    """Describes a transform in force as the engine sees it.

    Attributes
    ----------
    transforms_function
        Whether it transforms a function, which has the graph of its inside to itself.
    """

    transforms_function: ClassVar[bool]


_levels: ContextVar[tuple[Any, ...]] = ContextVar("dovetail_transform_levels", default=())

LEVELS: Final = _levels
"""The context variable that holds them, for `Guard.variables`."""

active_levels: Final[Callable[[], tuple[ActiveLevel, ...]]] = _levels.get
"""Return the levels that this task is in, outermost first."""

set_active_levels: Final[Callable[[tuple[ActiveLevel, ...]], Any]] = _levels.set


def is_in_transform() -> bool:
    """Return whether a function is being transformed, so that its graph must not be taken over from
    inside.
    """
    return any([level.transforms_function for level in _levels.get()])
