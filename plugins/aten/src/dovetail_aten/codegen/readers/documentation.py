"""Reads ``docs.yaml``: what the functions of operators say of themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dovetail_dispatcher.calls import parameter

from ...templates.python_function import python_schema
from ..errors import DeclarationError, Location
from .entries import Entry, read_named_entries
from .native_functions import NativeFunction

_TEXTS = ("summary", "details", "formula", "source", "returns", "same_as")
_MAPPINGS = ("arguments", "raises")


@dataclass(frozen=True)
class Documentation:
    """What the functions of one name say of themselves.

    Attributes
    ----------
    where
        Where that is written.
    summary
        A sentence.
    details
        Further sentences.
    formula, source
        What is computed, and who says so.
    arguments
        What arguments mean, by the names that Python functions give to them.
    returns
        The results.
    raises
        When errors are raised, by their types.
    same_as
        The operator that has another name for the same.
    """

    where: Location
    summary: str = ""
    details: str = ""
    formula: str = ""
    source: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict)
    returns: str = ""
    raises: Mapping[str, str] = field(default_factory=dict)
    same_as: str = ""


def read_documentation(
    paths: Iterable[Path], functions: Iterable[NativeFunction]
) -> dict[str, Documentation]:
    """Return the documentation of `functions`, by their base names. Raises DeclarationError with
    the line and the remedy: for an unknown key, a name that no operator has, an argument that it
    does not take, and an entry without summary.
    """
    arguments: dict[str, set[str]] = {}
    for function in functions:
        schema = python_schema(function.schema)
        names = {parameter(argument) for argument in schema.arguments}
        arguments.setdefault(function.base_name, set()).update(names)
    found: dict[str, Documentation] = {}
    for name, entry in read_named_entries(paths, DeclarationError):
        if name in found:
            raise DeclarationError(
                entry.where, f"'{name}' is documented twice.", f"See {found[name].where}."
            )
        found[name] = _documentation(name, entry, arguments)
    for name, document in found.items():
        if document.same_as and not (found.get(document.same_as) or document).summary:
            raise DeclarationError(
                document.where,
                f"'{name}' is said to be the same as '{document.same_as}', which says nothing.",
                "Name an operator that has a summary.",
            )
    return found


def _documentation(name: str, entry: Entry, arguments: Mapping[str, set[str]]) -> Documentation:
    where = entry.where
    if name not in arguments:
        raise DeclarationError(
            where, f"there is no operator '{name}'.", "Declare it, or remove the entry."
        )
    if unknown := [key for key in entry.values if key not in (*_TEXTS, *_MAPPINGS)]:
        raise DeclarationError(
            entry.lines[unknown[0]],
            f"leftover entries: {', '.join(unknown)} are no keys of documentation.",
            f"Its keys are {', '.join([*_TEXTS, *_MAPPINGS])}.",
        )
    if bool(entry.values.get("summary")) == bool(entry.values.get("same_as")):
        raise DeclarationError(
            where, f"'{name}' has no summary, or 'same_as' beside it.", "Write one of the two."
        )
    texts = {key: " ".join(entry.text(key).split()) for key in _TEXTS}
    given, raises = [_texts(entry, key) for key in _MAPPINGS]
    if strange := sorted(given.keys() - arguments[name] - {"out"}):
        raise DeclarationError(
            entry.lines["arguments"],
            f"'{name}' takes no argument '{strange[0]}'.",
            f"It takes {', '.join(sorted(arguments[name]))}.",
        )
    return Documentation(where, arguments=given, raises=raises, **texts)


def _texts(entry: Entry, key: str) -> dict[str, str]:
    values: Any = entry.values.get(key, {})
    if not isinstance(values, dict) or not all(isinstance(text, str) for text in values.values()):
        raise DeclarationError(
            entry.lines[key], f"'{key}' is not a mapping to texts.", "Write 'name: text' lines."
        )
    return {name: " ".join(text.split()) for name, text in values.items()}
