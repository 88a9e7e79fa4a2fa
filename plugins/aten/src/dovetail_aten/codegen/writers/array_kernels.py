"""Writes ``array_kernels.py``: which family of array kernels has which operators, so that a family
is loaded when one of them is first used.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..kernel_sources import KernelFamily
from .text import HEADER, INDENT, Lines, filled


def write_array_kernels(families: Sequence[KernelFamily]) -> str:
    """Return the text of the tables."""
    lines = Lines()
    lines.add(HEADER, '"""The families of array kernels, and what each defines."""', "")
    lines.add("PLACES: tuple[str, ...] = (")
    lines.add(*filled([repr(family.place) for family in families]), ")")
    lines.add('"""Module and class of every family, in the folder of families."""', "")
    operators = {family.name: family.operators for family in families}
    _table(lines, "OPERATORS", operators, "The operators that a family has kernels of.")
    helpers = {family.name: family.helpers for family in families if family.helpers}
    _table(lines, "HELPERS", helpers, "What derivative bodies call of a family.")
    functions = {
        name: function for family in families for name, function in family.functions.items()
    }
    lines.add("FUNCTIONS: dict[str, str] = {")
    lines.add(*filled([f"{name!r}: {functions[name]!r}" for name in sorted(functions)]), "}")
    lines.add(
        '"""Kernels that are a function of the array namespace: there are none if it has none."""'
    )
    return lines.text()


def _table(lines: Lines, title: str, names: dict[str, list[str]], meaning: str) -> None:
    lines.add(f"{title}: dict[str, tuple[str, ...]] = {{")
    for family in sorted(names):
        row = filled(list(map(repr, names[family])), INDENT * 2)
        lines.add(f"{INDENT}{family!r}: (", *row, f"{INDENT}),")
    lines.add("}", f'"""{meaning}"""', "")
