"""Loads the compiled module, and refuses one that does not fit."""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Final

from .sources import source_hash

PLAN_FORMAT: Final = 4
"""The format of programs of routes, which the compiled module has to be of."""

VERSION: Final = "0.1.0"
"""The version of the distribution, which the compiled module has to be of."""

_ROOT: Final = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

_REMEDY: Final = "Compile it again: `make install` in a checkout, else reinstall dovetail-native."


def load_core() -> ModuleType | None:
    """Return the compiled module; None if this installation has none. Raises ImportError if it
    cannot be loaded, or was built of other sources.
    """
    if find_spec("dovetail_native._core") is None:
        return None
    core = import_module("dovetail_native._core")
    if core.VERSION != VERSION:
        raise ImportError(
            f"{core.__file__} is version {core.VERSION}, and dovetail-native is {VERSION}. "
            f"{_REMEDY}"
        )
    if core.PLAN_FORMAT != PLAN_FORMAT:
        raise ImportError(
            f"{core.__file__} runs programs of format {core.PLAN_FORMAT}, and dovetail-native "
            f"makes those of format {PLAN_FORMAT}. {_REMEDY}"
        )
    # Sources lie beside an editable installation only.
    if os.path.isdir(os.path.join(_ROOT, "core")) and source_hash(_ROOT) != core.SOURCE_HASH:
        raise ImportError(f"{core.__file__} is stale: its sources have changed. {_REMEDY}")
    return core
