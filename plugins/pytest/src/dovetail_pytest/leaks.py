"""Registrations that the body of a test leaves behind: they are taken back, and a warning names
them.

What plugins register when they are loaded is theirs and stays; so does what fixtures register,
which may live longer than a test.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from dovetail_dispatcher.table import Change

_MADE: pytest.StashKey[list[Change]] = pytest.StashKey()
_FAILED: pytest.StashKey[bool] = pytest.StashKey()


class LeakedRegistrationWarning(UserWarning):
    """A test did not remove a registration."""


def _changes() -> Any:
    """Return the module of changes if it is imported: nothing can be registered before."""
    return sys.modules.get("dovetail_dispatcher.table.updates.changes")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Collect the handles of the registrations of the test."""
    changes = _changes()
    if changes is None or item.config.getini("dovetail_leaks") == "keep":
        return (yield)
    made = item.stash[_MADE] = []
    before = changes.open_transaction.get()
    changes.open_transaction.set(made)
    item.stash[_FAILED] = True
    try:
        result = yield
        item.stash[_FAILED] = False
        return result
    finally:
        changes.open_transaction.set(before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Remove leftover registrations after the fixtures of the test have ended."""
    result = yield
    # Most tests take back what they register themselves: then nothing is left to look for.
    left = [change for change in item.stash.get(_MADE, ()) if change.is_live]
    if left:
        item.stash[_MADE] = []
        # The traceback of a failed test keeps its libraries alive.
        if item.stash[_FAILED] or item.config.getini("dovetail_leaks") != "warn":
            sys.modules["dovetail_dispatcher.table.updates.changes"].take_back(left)
        elif leaked := take_back(left):
            listed = "".join(f"\n  {each}" for each in leaked)
            item.warn(
                LeakedRegistrationWarning(
                    f"{item.nodeid} has left registrations behind, which were taken "
                    f"back:{listed}\nMake libraries with "
                    "the fixture scoped_library, or destroy them in the test."
                )
            )
    return result


def take_back(made: list[Change]) -> list[str]:
    """Take back those registrations that are still there, and return what they are."""
    from dovetail_dispatcher.table import registry
    from dovetail_dispatcher.table.updates import changes

    gc.collect()  # a library without references is not left behind, even as part of a cycle
    present = set(_registrations(registry))
    changes.take_back(made)
    return sorted(present.difference(_registrations(registry)))


def _registrations(table: Any) -> Iterator[str]:
    for op in table.all_operators():
        if op.is_defined:
            yield f"operator {op.qualified_name}, {op.defined_at}"
        for key, stack in list(op.kernels.items()):
            for kernel in stack:
                yield f"kernel of {op.qualified_name} for {key.name}, registered at {kernel.origin}"
        if op.formula is not None:
            yield f"derivative of {op.qualified_name}"
    for key, kernel in list(table.fallbacks.items()):
        yield f"fallback for {key.name}, registered at {kernel.origin}"
