"""YAML lists of mappings, and mappings of mappings, read with the line of every key, so that each
complaint about them can say where.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from ..errors import Location

FAMILIES = ("families", "declarations")
"""Folders of a package whose declarations are split by family, each in a folder of its own.
The second is the name of earlier versions.
"""


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
        """Return a value written as ``a, b`` or ``[a, b]`` as a tuple of names. Commas inside
        parentheses separate nothing.
        """
        value = self.values.get(key, ())
        parts = re.split(r",(?![^(]*[)])", value) if isinstance(value, str) else value
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


def _shown(path: Path) -> str:
    """Return the name of a declaration file in messages: with the family that it belongs to."""
    family = path.parent
    return f"{family.name}/{path.name}" if family.parent.name in FAMILIES else path.name


def read_named_entries(
    paths: Iterable[Path], error: type[Exception]
) -> Iterator[tuple[str, Entry]]:
    """Yield the entries of the YAML mappings in files, each with the key that it has there. Raises
    error as for `read_entries`.
    """
    for path in paths:
        with parsed(path, error) as (root, loader):
            if root is None:
                continue
            if not isinstance(root, yaml.MappingNode):
                raise error(
                    _where(path, root),
                    "the file is not a mapping of entries.",
                    "Begin every entry with its name and ':'.",
                )
            for repeated in _repeated_keys(root, set()):
                raise error(
                    _where(path, repeated),
                    f"'{repeated.value}' appears twice.",
                    "Keep one of them.",
                )
            for key, node in root.value:
                entry = _entry(path, loader, node, error)
                yield str(key.value), replace(entry, where=_where(path, key))


def _entries(path: Path, error: type[Exception]) -> Iterator[Entry]:
    with parsed(path, error) as (root, loader):
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


@contextmanager
def parsed(
    path: Path, error: type[Exception]
) -> Iterator[tuple[yaml.Node | None, yaml.SafeLoader]]:
    """Give the root of the nodes of a file, and the loader that says what they stand for."""
    content, loader = _content(path, error)
    try:
        try:
            root = _root(content, loader)
        except ValueError as problem:  # a number of too many digits in a directive
            where = Location(_shown(path), 1)
            raise error(where, f"not YAML: {problem}.", "Leave out the directive.") from None
        lengths: dict[int, int] = {}
        for node in [] if root is None else _containers(root, lengths):
            if lengths[id(node)] > 2 * len(content) + 1000:
                where = _where(path, node)
                raise error(where, "aliases stand for more than the file holds.", "Write it out.")
        yield root, loader
    except yaml.MarkedYAMLError as problem:
        line = problem.problem_mark.line + 1 if problem.problem_mark else 1
        raise error(
            Location(_shown(path), line),
            f"not YAML: {problem.problem}.",
            "Quote values that contain ': ' or ' #'.",
        ) from None
    except RecursionError:
        raise error(
            Location(_shown(path), 1), "values are nested too deeply.", "Close every bracket."
        ) from None
    finally:
        loader.dispose()


def _containers(node: yaml.Node, lengths: dict[int, int]) -> Iterator[yaml.Node]:
    """Yield the lists and mappings in a node, inner ones first, once their lengths are noted: how
    many characters and values they are with aliases written out, as messages show them.
    """
    if id(node) in lengths:
        return
    lengths[id(node)] = 0  # of an alias within itself, which the loader refuses
    if isinstance(node, yaml.ScalarNode):
        lengths[id(node)] = 1 + len(node.value)
        return
    is_mapping = isinstance(node, yaml.MappingNode)
    parts = [each for pair in node.value for each in pair] if is_mapping else node.value
    for part in parts:
        yield from _containers(part, lengths)
    lengths[id(node)] = 1 + sum([lengths[id(part)] for part in parts])
    yield node


def _root(content: str, loader: yaml.SafeLoader) -> yaml.Node | None:
    """Return the root of the nodes of a text. libyaml, if it is there, takes a tenth of the time;
    what is wrong with a text is said by the loader.
    """
    if yaml.__with_libyaml__:
        try:
            return yaml.compose(content, Loader=yaml.CSafeLoader)
        except yaml.YAMLError:
            pass
    return loader.get_single_node()


def _content(path: Path, error: type[Exception]) -> tuple[str, yaml.SafeLoader]:
    """Return the text of a file, and the loader of it."""
    content = path.read_bytes()
    try:
        text = content.decode("utf-8")
        loader = yaml.SafeLoader(text)
    except (UnicodeDecodeError, yaml.reader.ReaderError) as problem:
        if isinstance(problem, UnicodeDecodeError):
            before = content[: problem.start].decode()
        else:
            before = content.decode()[: problem.position]
        raise error(
            Location(_shown(path), before.count("\n") + 1),
            "not text: a byte or character there can't be in YAML.",
            "Write the file in UTF-8, without control characters.",
        ) from None
    loader.name = _shown(path)
    return text, loader


def _entry(path: Path, loader: yaml.SafeLoader, node: yaml.Node, error: type[Exception]) -> Entry:
    where = _where(path, node)
    if not isinstance(node, yaml.MappingNode):
        raise error(where, "the entry is not a mapping.", "Write it as 'key: value' lines.")
    values: dict[str, Any] = {}
    lines: dict[str, Location] = {}
    for key_node, value_node in node.value:
        key = str(_value(path, loader, key_node, error))
        at = _where(path, key_node)
        if key in values:
            raise error(at, f"key '{key}' appears twice in one entry.", "Keep one of them.")
        plain = isinstance(value_node, yaml.ScalarNode)
        values[key] = value_node.value if plain else _value(path, loader, value_node, error)
        lines[key] = at
    return Entry(where, values, lines)


def _value(path: Path, loader: yaml.SafeLoader, node: yaml.Node, error: type[Exception]) -> Any:
    """Return what a node stands for."""
    for repeated in _repeated_keys(node, set()):
        raise error(
            _where(path, repeated),
            f"key '{repeated.value}' appears twice in one mapping.",
            "Keep one of them.",
        )
    try:
        return loader.construct_object(node, deep=True)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as problem:
        text = f"not YAML: a text does not fit its tag ({problem})."
        raise error(_where(path, node), text, "Quote what is meant as text.") from None


def _repeated_keys(node: yaml.Node, seen: set[int]) -> Iterator[yaml.Node]:
    """Yield the nodes, at any depth, of keys that their mapping has already."""
    if isinstance(node, yaml.ScalarNode) or id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _repeated_keys(item, seen)
        return
    keys: set[str] = set()
    for key, value in node.value:
        if isinstance(key, yaml.ScalarNode):
            if key.value in keys:
                yield key
            keys.add(key.value)
        yield from _repeated_keys(value, seen)


def _where(path: Path, node: yaml.Node) -> Location:
    return Location(_shown(path), node.start_mark.line + 1)
