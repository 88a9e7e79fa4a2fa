"""Writes what the functions know of their overloads of old."""

from __future__ import annotations

from collections.abc import Sequence

from dovetail_dispatcher.calls.templates.arguments import parameter

from ..overload_sets import OverloadSet, takes_numbers
from ..readers.deprecated import shown_parameters
from .text import INDENT


def write_old_overloads(overloads: OverloadSet) -> list[str]:
    """Return the lines that note the overloads of old of one name; none if it has none."""
    if not overloads.old:
        return []
    has_out = bool(overloads.outs)
    first = overloads.overloads[0]
    signatures = [shown_parameters(schema, takes_out=has_out) for schema in overloads.old]
    current = dict.fromkeys(
        [
            shown_parameters(function.schema, takes_out=function.name in overloads.outs)
            for function in overloads.overloads
            if function.old
        ]
    )
    numbers = [parameter(first.schema.arguments[1])] if takes_numbers(first) else []
    return [
        f'OLD_OVERLOADS["{overloads.name}"] = OldOverloads(',
        *_tuple(signatures),
        *_tuple(list(current)),
        *([f"{INDENT}{tuple(numbers)!r},"] if numbers else []),
        ")",
    ]


def _tuple(texts: Sequence[str]) -> list[str]:
    return [f"{INDENT}(", *[f'{INDENT * 2}"{text}",' for text in texts], f"{INDENT}),"]
