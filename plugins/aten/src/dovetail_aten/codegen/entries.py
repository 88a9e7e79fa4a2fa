"""YAML lists of mappings, read with the line of every key, so that each complaint about them can
say where.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from .errors import Location

FAMILIES = "declarations"
"""Folder of a package whose declarations are split by family, each in a folder of its own."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One mapping of the list: values and lines by key, in the order of the file."""

    where: Location
    values: dict[str, Any]
    lines: dict[str, Location]

    def text(self, key: str, default: str = "") -> str:
        """Return the value of `key` as the text that stands in the file."""
        value = self.values.get(key, default)
        return value if isinstance(value, str) else str(value)

    def names(self, key: str) -> tuple[str, ...]:
        """Return a value written as ``a, b`` or ``[a, b]`` as a tuple of names."""
        value = self.values.get(key, ())
        parts = value.split(",") if isinstance(value, str) else value
        return tuple([str(part).strip() for part in parts])


def read_entries(paths: Path | Iterable[Path], error: type[Exception]) -> Iterator[Entry]:
    """Yield the entries of the YAML list in a file, or of those in several, one after the other.

    Raises
    ------
    error
        Called with location, problem and remedy: for a file that is not a list of mappings, or a
        repeated key.
    """
    for path in [paths] if isinstance(paths, Path) else paths:
        yield from _entries(path, error)


def start_of(paths: Path | Iterable[Path]) -> Location:
    """Return the first line of the first of `paths`."""
    first = paths if isinstance(paths, Path) else next(iter(paths))
    return Location(_shown(first), 1)


def _shown(path: Path) -> str:
    """Return the name of a declaration file in messages: with the family that it belongs to."""
    family = path.parent
    return f"{family.name}/{path.name}" if family.parent.name == FAMILIES else path.name


def _entries(path: Path, error: type[Exception]) -> Iterator[Entry]:
    loader = yaml.SafeLoader(path.read_text(encoding="utf-8"))
    loader.name = _shown(path)
    try:
        root = loader.get_single_node()
        if root is None:
            return
        if not isinstance(root, yaml.SequenceNode):
            raise error(
                _where(path, root),
                "the file is not a list of entries.",
                "Begin every entry with '- '.",
            )
        for node in root.value:
            yield _entry(path, loader, node, error)
    except yaml.MarkedYAMLError as problem:
        line = problem.problem_mark.line + 1 if problem.problem_mark else 1
        raise error(
            Location(_shown(path), line),
            f"not YAML: {problem.problem}.",
            "Quote values that contain ': ' or ' #'.",
        ) from None
    finally:
        loader.dispose()


def _entry(path: Path, loader: yaml.SafeLoader, node: yaml.Node, error: type[Exception]) -> Entry:
    where = _where(path, node)
    if not isinstance(node, yaml.MappingNode):
        raise error(where, "the entry is not a mapping.", "Write it as 'key: value' lines.")
    values: dict[str, Any] = {}
    lines: dict[str, Location] = {}
    for key_node, value_node in node.value:
        key = str(loader.construct_object(key_node, deep=True))
        at = _where(path, key_node)
        if key in values:
            raise error(at, f"key '{key}' appears twice in one entry.", "Keep one of them.")
        plain = isinstance(value_node, yaml.ScalarNode)
        values[key] = value_node.value if plain else loader.construct_object(value_node, deep=True)
        lines[key] = at
    return Entry(where, values, lines)


def _where(path: Path, node: yaml.Node) -> Location:
    return Location(_shown(path), node.start_mark.line + 1)
