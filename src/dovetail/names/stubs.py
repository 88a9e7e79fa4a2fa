"""Packages of the front end whose names stand in the stub beside their ``__init__.py``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dovetail_kernel import attach_stub as attach_names

from .missing import names_of


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
    return attach_names(module, publishes=True, missing=missing)
