"""Writes ``policies.py``: which rule gives the shapes of an operator's results, which batches it,
and what it does under autocast.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from textwrap import wrap

from ..readers.native_functions import NativeFunction
from .text import HEADER, INDENT, Lines

Row = tuple[str | tuple[str, ...], ...]


def write_policies(
    functions: Sequence[NativeFunction],
    meta_modules: Mapping[str, str],
    batching_modules: Mapping[str, str],
) -> str:
    """Return the text of the policies.

    Parameters
    ----------
    functions
        The operators.
    meta_modules, batching_modules
        The module of every function that gives shapes, and of every one that batches.
    """
    own = [function for function in functions if function.derived_from is None]
    lines = Lines()
    lines.add(
        HEADER, '"""What follows for the operators from their declarations, by what follows."""', ""
    )
    _table(
        lines,
        "META",
        "tuple[str, str, tuple[str, ...], str]",
        "Module and function of the rule on the meta device, dtypes of the results, operators.",
        [
            ((meta_modules[p.meta], p.meta, p.result), function.name)
            for function in own
            if (p := function.policies).meta
        ],
    )
    _table(
        lines,
        "BATCHING",
        "tuple[str, str, str]",
        "Module and function of the batching rule, operators.",
        [
            ((batching_modules[p.batching], p.batching), function.name)
            for function in own
            if (p := function.policies).batching
        ],
    )
    _table(
        lines,
        "AUTOCAST",
        "tuple[str, str, str]",
        "Device, policy, operators.",
        [(each, function.name) for function in own for each in function.policies.autocast],
    )
    names = [
        f"{function.namespace}::{function.name}"
        for function in own
        if function.policies.shape == "data_dependent" and not function.policies.meta
    ]
    lines.add(
        f"DATA_DEPENDENT = {tuple(names)!r}",
        '"""Operators whose results cannot be told from shapes: the meta device has no kernel."""',
    )
    return lines.text()


def _table(
    lines: Lines, title: str, row_type: str, meaning: str, entries: Iterable[tuple[Row, str]]
) -> None:
    rows: dict[Row, list[str]] = {}
    for key, name in entries:
        rows.setdefault(key, []).append(name)
    lines.add(f"{title}: tuple[{row_type}, ...] = (")
    for key, names in sorted(rows.items()):
        head = f"{INDENT}({', '.join(map(repr, key))},"
        texts = wrap(" ".join(names), 88, break_long_words=False, break_on_hyphens=False)
        if len(texts) == 1 and len(head) + len(texts[0]) < 94:
            lines.add(f"{head} {texts[0]!r}),")
            continue
        lines.add(head, *[f"{INDENT}{INDENT}{text + ' '!r}" for text in texts[:-1]])
        lines.add(f"{INDENT}{INDENT}{texts[-1]!r}),")
    lines.add(")", f'"""{meaning}"""', "")
