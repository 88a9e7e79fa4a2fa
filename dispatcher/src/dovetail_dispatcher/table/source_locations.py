"""Places in source files: where a definition is, and how readers see it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial

from .operator import Operator


def place_of_definition(op: Operator) -> Callable[[], str]:
    """Return a function that finds ``file:line`` of the current definition, even after another
    definition overrides it.
    """
    assert op.definition is not None
    return partial(op.definition.place_of, op)


def short_place(location: str) -> str:
    """Return ``"file:line"`` with the file relative to the folder that it is imported from, or to
    the current folder.
    """
    folders = [
        folder
        for folder in (*sys.path, os.getcwd())
        if folder and location.startswith(folder + os.sep)
    ]
    return location[len(max(folders, key=len)) + 1 :] if folders else location
