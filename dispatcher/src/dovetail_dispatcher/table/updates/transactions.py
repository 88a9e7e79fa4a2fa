"""Loads plugins in transactions: one that fails half-way leaves no registration behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from dovetail_kernel.plugins import PluginEntry
from dovetail_kernel.sockets import KERNEL_TABLE

from .. import registry
from .changes import Change, open_transaction, take_back


@contextmanager
def transaction() -> Iterator[Callable[[], None]]:
    """A context that reverts, on an exception, all registrations of this task in the block. It
    returns a handle that reverts them later.

    Nested transactions are independent: a completely loaded plugin stays, even if the plugin that
    required it fails.
    """
    changes: list[Change] = []
    outer = open_transaction.get()
    try:
        open_transaction.set(changes)
        yield partial(take_back, changes)
    except BaseException:
        take_back(changes)
        raise
    finally:
        open_transaction.set(outer)


def count_kernels(entry: PluginEntry) -> int:
    """Return how many live kernels and fallbacks the plugin of `entry` has registered."""
    kernels = [
        k for op in registry.all_operators() for stack in list(op.kernels.values()) for k in stack
    ]
    plugins = [k.plugin for k in [*kernels, *registry.fallbacks.values()] if k.plugin is not None]
    # Dovetail's own entries are known by name before they are scanned, and have no version then.
    return sum((plugin.group, plugin.name) == (entry.group, entry.name) for plugin in plugins)


class PluginTable:
    """What the plugin manager asks about registrations."""

    transaction = staticmethod(transaction)
    count_kernels = staticmethod(count_kernels)


KERNEL_TABLE.fill(PluginTable())
