"""Writes what stands in place of operators that a selective build leaves out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..readers.native_functions import NativeFunction
from ..selection import Selection
from .text import INDENT


@dataclass(frozen=True)
class LeftOut:
    """What a selective build leaves out.

    Attributes
    ----------
    functions
        The operators that it has not.
    selection
        The list that it was made from.
    package
        Name of the package folder, for messages.
    namespaces
        The namespaces of all its operators.
    """

    functions: Sequence[NativeFunction]
    selection: Selection
    package: str
    namespaces: Sequence[str]


def write_left_out(left_out: LeftOut, functions: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the lines that bind, in the module of the functions, functions that say what to do.

    Parameters
    ----------
    left_out
        The operators.
    functions
        The names of the functions of each, by its base name.
    """
    namespaces = {function.base_name: function.namespace for function in left_out.functions}
    selection = left_out.selection
    without_derivatives = "" if selection.autograd else " ".join(left_out.namespaces)
    rows = [
        f'{INDENT}"{namespaces[base]}::{base}": "{" ".join(names)}",'
        for base, names in functions.items()
    ]
    return [
        "from dovetail_aten.calling.excluded_operators import Build, leave_out",
        "",
        f"BUILD = Build({left_out.package!r}, {selection.source!r}, {without_derivatives!r}, "
        f"{' '.join(selection.ops)!r})",
        "globals().update(leave_out(BUILD, {",
        *rows,
        "}))",
    ]
