"""Classes and functions that a user allows in files: `add_safe_globals` and related functions, as
in ``torch.serialization``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

SafeGlobal: TypeAlias = Callable[..., Any] | tuple[Callable[..., Any], str]

_safe: list[SafeGlobal] = []


def add_safe_globals(safe_globals: Sequence[SafeGlobal]) -> None:
    """Allow these classes and functions in files for ``load(..., weights_only=True)``.

    Parameters
    ----------
    safe_globals : list
        Classes and functions, or pairs of an object and its full name in files
        (``"package.module.Name"``).

    Raises
    ------
    TypeError
        If an item is neither.
    """
    global _safe
    _safe = [*_safe, *_checked(safe_globals)]


def get_safe_globals() -> list[SafeGlobal]:
    """Return the added classes and functions, as a new list."""
    return list(_safe)


def clear_safe_globals() -> None:
    """Remove the types added by `add_safe_globals`."""
    global _safe
    _safe = []


class safe_globals:
    """Allows classes and functions in files within a ``with`` block; see `add_safe_globals`.

    Parameters
    ----------
    safe_globals : list
        As there.
    """

    def __init__(self, safe_globals: Sequence[SafeGlobal]) -> None:
        self._added = _checked(safe_globals)
        self._before: list[SafeGlobal] = []

    def __enter__(self) -> None:
        self._before = get_safe_globals()
        add_safe_globals(self._added)

    def __exit__(self, *exception: object) -> None:
        global _safe
        _safe = self._before


def named_safe_globals() -> dict[str, Any]:
    """Return the allowed objects by their full names in pickles."""
    named: dict[str, Any] = {}
    for entry in _safe:
        if isinstance(entry, tuple):
            named[entry[1]] = entry[0]
        else:
            name = getattr(entry, "__qualname__", type(entry).__qualname__)
            named[f"{entry.__module__}.{name}"] = entry
    return named


def _checked(entries: Sequence[SafeGlobal]) -> list[SafeGlobal]:
    for entry in entries:
        given: Any = entry
        if isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], str):
            given = given[0]
        if not callable(given):
            raise TypeError(
                "a safe global should be a class or a function, or a pair of one and its full "
                f"name, not {entry!r:.60}"
            )
    return list(entries)
