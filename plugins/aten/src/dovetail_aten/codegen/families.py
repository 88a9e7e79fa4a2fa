"""The families that declarations are split into, and the modules that follow them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from .errors import Location

T = TypeVar("T")


def family(where: Location) -> str:
    """Return the family of the entry at `where`; empty where declarations are not split."""
    return where.file.rpartition("/")[0]


def by_family(items: Iterable[T], where: Callable[[T], Location]) -> dict[str, list[T]]:
    """Group `items` by the family of what `where` returns, in order of first appearance."""
    groups: dict[str, list[T]] = {}
    for item in items:
        groups.setdefault(family(where(item)), []).append(item)
    return groups
