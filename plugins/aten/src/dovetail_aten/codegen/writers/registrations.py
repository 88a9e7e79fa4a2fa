"""Writes ``registrations.py``: the operators as plain tuples, which are merged in bulk and parsed
later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..readers.native_functions import COMPOSITE_KEYS, NativeFunction
from .text import HEADER, INDENT, Lines


def write_registrations(
    functions: Sequence[NativeFunction], composite_modules: Mapping[str, str]
) -> str:
    """Return the text of the registration table.

    Parameters
    ----------
    functions
        The operators.
    composite_modules
        The module that defines each composite function, by the function's name.
    """
    lines = Lines()
    lines.add(
        HEADER,
        '"""The operators of the library: what `dovetail_dispatcher` merges into its table."""',
        "",
    )
    lines.add("from __future__ import annotations", "")
    lines.add(
        "OPERATORS: tuple[tuple[str, str, str, tuple[str, ...], tuple[str, ...], str, "
        "tuple[str, ...], str | None, str, int], ...] = ("
    )
    for function in functions:
        text = f"{function.namespace}::{function.text}"
        functional = (
            None
            if function.derived_from is None
            else f"{function.namespace}::{function.derived_from}"
        )
        row = (
            text,
            function.kind,
            function.promotion,
            function.promote,
            (*function.refuses, *(function.refused_outs if _is_out(function) else ())),
            function.half,
            function.tags,
            functional,
            function.where.file,
            function.where.line,
        )
        lines.add(f"{INDENT}{row!r},")
    lines.add(
        ")",
        '"""Schema, kind, promotion, promoted arguments, refused '
        "dtypes, half precision, tags, functional operator of a variant, file and line of the "
        'declaration."""',
        "",
    )
    lines.add("COMPOSITES: tuple[tuple[str, str, str, str], ...] = (")
    for function in functions:
        if function.composite is not None and not _is_out(function):
            key, name = function.composite
            lines.add(f"{INDENT}{(_qualified(function), key, composite_modules[name], name)!r},")
    lines.add(")", '"""Operator, dispatch key, module and name of the composite kernel."""', "")
    composites = {
        function.name
        for function in functions
        if function.composite is not None and function.composite[0] != COMPOSITE_KEYS["undefined"]
    }
    lines.add("OUTS_OF_COMPOSITES: tuple[str, ...] = (")
    for function in functions:
        if _is_out(function) and function.derived_from in composites:
            lines.add(f'{INDENT}"{_qualified(function)}",')
    lines.add(")", '"""Out variants of composites, which write what these return."""')
    return lines.text()


def _is_out(function: NativeFunction) -> bool:
    return function.derived_from is not None and function.schema_kind == "out"


def _qualified(function: NativeFunction) -> str:
    return f"{function.namespace}::{function.name}"
