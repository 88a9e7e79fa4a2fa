"""Samples of the base library's operators, by the families that declare the operators."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from dovetail_dispatcher.table import registry

if TYPE_CHECKING:
    from dovetail_dispatcher.testing import OpInfo


def op_infos() -> list[OpInfo]:
    """Return the `OpInfo` of every operator of the base library, or of a selective build of it."""
    found: list[OpInfo] = []
    for _, name, is_family in iter_modules(__path__):
        if is_family:
            found += import_module(f".{name}.samples", __name__).OP_INFOS
    return [info for info in found if info.name.partition(".")[0] not in registry.left_out]
