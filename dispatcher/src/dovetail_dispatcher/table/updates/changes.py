"""Change: one registration in the operator table, an object that can be applied and reverted.

`make` gives a change to its owner, and to the transaction around it, *before* it applies it, and
reverting what never took effect does nothing: a registration that is interrupted can always
be cleaned up.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from .. import registry


class Change(ABC):
    """One registration.

    Changes can be reverted at any time, in any order, and again after an interruption, since
    `revert` searches the table for the change.
    """

    __slots__ = ("is_live",)

    is_live: bool
    """Whether there may be something to revert; set by `make`."""

    @abstractmethod
    def apply(self) -> None:
        """Put the change into the table. The caller holds the lock."""

    @abstractmethod
    def take_out(self) -> None:
        """Remove the parts of the change that are in the table. The caller holds the lock."""

    def revert(self) -> None:
        """Remove the change from the table, and drop its references.

        A second call does nothing.
        """
        with registry.lock:
            if self.is_live:
                self.take_out()
                self.is_live = False
                for slot in self.__slots__:
                    delattr(self, slot)


open_transaction: Final[ContextVar[list[Change] | None]] = ContextVar(
    "dovetail_registrations", default=None
)
"""The changes made while a plugin is being loaded in this task."""


def make(change: Change, owner: list[Change]) -> Change:
    """Apply a change that `owner`, and the plugin that is being loaded, can revert; return it."""
    transaction = open_transaction.get()
    with registry.lock:
        change.is_live = True
        if transaction is not None and transaction is not owner:
            transaction.append(change)
        owner.append(change)
        change.apply()
    return change


def take_back(changes: list[Change]) -> None:
    """Revert changes, the newest first. One that is interrupted is still in the list."""
    with registry.lock:
        while changes:
            changes[-1].revert()
            changes.pop()


@contextmanager
def together(owner: list[Change]) -> Iterator[None]:
    """Take back what `owner` registers inside of the block if the block fails."""
    before = len(owner)
    try:
        yield
    except BaseException:
        made = owner[before:]
        try:
            take_back(made)
        finally:
            owner[before:] = made  # those of which an interrupt prevented it
        raise
