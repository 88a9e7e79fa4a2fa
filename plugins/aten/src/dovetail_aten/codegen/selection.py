"""The list of a selective build: which operators it must have, and which it must not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import yaml

from .errors import DeclarationError, Location
from .readers.entries import parsed

_KEYS: Final = ("ops", "without")
_REMEDY: Final = "Write '- add' lines, or 'ops: [...]' and 'without: [...]'."


@dataclass(frozen=True)
class Selection:
    """The operators requested for a build.

    Attributes
    ----------
    source
        Name of the file that the list was read from, for messages.
    ops
        Names of operators, ``add`` or ``add.Tensor``, without the namespace of the base library.
    without
        Names of operators that the build must not have.
    autograd
        Whether the build includes derivatives, and the operators that they call.
    lines
        The line of each name, for messages.
    """

    source: str
    ops: tuple[str, ...]
    without: tuple[str, ...] = ()
    autograd: bool = True
    lines: dict[str, int] = field(default_factory=dict)

    def where(self, name: str) -> Location:
        """Return the place of `name` in the list."""
        return Location(self.source, self.lines.get(name, 1))


def read_selection(path: Path, *, autograd: bool = True) -> Selection:
    """Read a YAML list of operators, or a mapping of ``ops`` and ``without``.

    Raises
    ------
    DeclarationError
        With the line, if it is neither, or a name is not a string.
    """
    found = _lists(path)
    return Selection(
        path.name,
        _only(found["ops"]),
        _only(found["without"]),
        autograd,
        {name: line for names in reversed(found.values()) for name, line in names},
    )


def _lists(path: Path) -> dict[str, list[tuple[str, int]]]:
    """Return the names under each key, with their lines."""
    found: dict[str, list[tuple[str, int]]] = {key: [] for key in _KEYS}
    try:
        with parsed(path, DeclarationError) as (root, _):
            if not isinstance(root, yaml.MappingNode):
                return {**found, "ops": _names(path, root)}
            for key, value in root.value:
                if key.value not in _KEYS:
                    line = key.start_mark.line + 1
                    problem = f"unknown key '{key.value}'."
                    raise DeclarationError(Location(path.name, line), problem, _REMEDY)
                found[key.value] = _names(path, value)
    except OSError as problem:
        raise DeclarationError(
            Location(path.name, 1), f"cannot be read: {problem.strerror}.", "Give a file."
        ) from None
    return found


def _names(path: Path, node: yaml.Node | None) -> list[tuple[str, int]]:
    if not isinstance(node, yaml.SequenceNode):
        line = 1 if node is None else node.start_mark.line + 1
        raise DeclarationError(Location(path.name, line), "not a list of operator names.", _REMEDY)
    names = []
    for item in node.value:
        line = item.start_mark.line + 1
        if not isinstance(item, yaml.ScalarNode):
            raise DeclarationError(
                Location(path.name, line), "not the name of an operator.", _REMEDY
            )
        names.append((item.value.removeprefix("aten::"), line))
    return names


def _only(names: Sequence[tuple[str, int]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([name for name, _ in names]))
