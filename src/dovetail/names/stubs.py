"""Packages of the front end whose names stand in the stub beside their ``__init__.py``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

from dovetail_kernel import CompleteModule
from dovetail_kernel import attach_stub as attach_names

from .missing import names_of

_OF_EVERY_CALL: Final = frozenset(
    {"dovetail", "dovetail.jit", "dovetail.nn", "dovetail.nn.functional"}
)
"""Modules whose attributes are looked up before every call, or in it: these stay plain modules."""


def attach_stub(
    module: str, remedy: str = "", remedies: Mapping[str, str] = {}
) -> Callable[[str], Any]:
    """Call `dovetail_kernel.attach_stub`; errors for missing names suggest a replacement.

    Parameters
    ----------
    module, remedy, remedies
        As for `names_of`.
    """
    missing = names_of(module, remedy=remedy, remedies=remedies)
    found = attach_names(module, publishes=True, missing=missing)
    if module not in _OF_EVERY_CALL:
        sys.modules[module].__class__ = CompleteModule
    return found
