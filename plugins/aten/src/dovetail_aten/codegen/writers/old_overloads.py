"""Writes the tables of the functions' deprecated overloads."""

from __future__ import annotations

from ..overload_sets import OverloadSet, takes_numbers
from ..readers.deprecated import shown_parameters
from .text import bracketed


def write_old_overloads(overloads: OverloadSet) -> list[str]:
    """Return the lines that note the deprecated overloads of one name; none if it has none."""
    if not overloads.old:
        return []
    has_out = bool(overloads.outs)
    signatures = [shown_parameters(schema, takes_out=has_out) for schema in overloads.old]
    current = dict.fromkeys(
        [
            shown_parameters(function.schema, takes_out=function.name in overloads.outs)
            for function in overloads.overloads
            if function.old
        ]
    )
    known = [repr(tuple(each)) for each in (signatures, current)]
    if takes_numbers(overloads.overloads[0]):
        known.append("takes_numbers=True")
    return bracketed(f'OLD_OVERLOADS["{overloads.name}"] = OldOverloads(', known, ")")
