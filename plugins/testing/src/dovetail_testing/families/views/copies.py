"""Samples of the operators that copy what a view operator shows: those of the views."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from dovetail_dispatcher.table import registry
from dovetail_dispatcher.testing import OpInfo


def copies(infos: Iterable[OpInfo]) -> Iterator[OpInfo]:
    """Yield for every view of `infos` that has a copy the `OpInfo` of that one."""
    for info in infos:
        base, _, overload = info.name.partition(".")
        name = f"{base}_copy"
        # The copy is looked for first: a build that has it has its view, and may have neither.
        if registry.find(name, overload) is None or info.operator.kind != "view":
            continue
        # A view may need elements that lie in order; what copies does not.
        skips = () if base == "aten::view" else info.skips
        yield replace(info, name=f"{name}.{overload}" if overload else name, skips=skips)
