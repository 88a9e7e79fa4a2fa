"""Shortens places in source files for readers."""

from __future__ import annotations

import os
import sys


def short_place(location: str) -> str:
    """Return ``"file:line"`` with the file relative to the folder that it is imported from, or to
    the current one.
    """
    folders = [
        folder
        for folder in (*sys.path, os.getcwd())
        if folder and location.startswith(folder + os.sep)
    ]
    return location[len(max(folders, key=len)) + 1 :] if folders else location
