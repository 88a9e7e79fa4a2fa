"""Sharing strategies for memory. The only one is sharing by file descriptor."""

from __future__ import annotations

from typing import Final

from dovetail_kernel import warn_user

_STRATEGIES: Final = frozenset({"file_descriptor", "file_system"})


def get_all_sharing_strategies() -> set[str]:
    """Return the valid names for `set_sharing_strategy`."""
    return set(_STRATEGIES)


def get_sharing_strategy() -> str:
    """Return ``"file_descriptor"``."""
    return "file_descriptor"


def set_sharing_strategy(new_strategy: str) -> None:
    """Accept ``"file_descriptor"``; ``"file_system"`` is ignored with a warning.

    Raises
    ------
    AssertionError
        For any other name.
    """
    if new_strategy not in _STRATEGIES:
        raise AssertionError(
            f"invalid sharing strategy {new_strategy!r}, expected one of {sorted(_STRATEGIES)}"
        )
    if new_strategy != get_sharing_strategy():
        warn_user(
            "set_sharing_strategy('file_system') changes nothing: memory is shared by descriptors, "
            "whose files have no names. Raise the number of open files if it does not do: "
            "ulimit -n."
        )
