"""The fixture `scoped_library`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from dovetail_dispatcher import Library


@pytest.fixture
def scoped_library() -> Iterator[Callable[..., Library]]:
    """Make libraries that are destroyed after the test: ``scoped_library(namespace,
    kind="FRAGMENT", key="")``.
    """
    from dovetail_dispatcher import Library

    made: list[Library] = []

    def make(ns: str, kind: str = "FRAGMENT", dispatch_key: str = "") -> Library:
        made.append(Library(ns, kind, dispatch_key))
        return made[-1]

    yield make
    for library in reversed(made):
        library._destroy()
