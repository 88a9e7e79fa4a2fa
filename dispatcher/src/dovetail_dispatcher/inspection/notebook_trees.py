"""Printed trees as HTML, for notebooks: branches that can be folded."""

from __future__ import annotations

import re
from html import escape
from typing import Final

_LINE: Final = re.compile(r"((?:│  |   )*)(├─ |└─ )?(.*)")
_STYLE: Final = "font-family:monospace;white-space:pre-wrap;margin-left:1.2em"


class InNotebooks:
    """Base of what prints as a tree: interpreters and notebooks show the tree as well.

    Dataclasses below it need ``repr=False``.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return html_of_tree(str(self))


class _Branch:
    def __init__(self, text: str) -> None:
        self.lines = [text]
        self.branches: list[_Branch] = []

    def html(self) -> str:
        text = escape("\n".join(self.lines))
        if not self.branches:
            return f'<div style="{_STYLE}">{text}</div>'
        inside = "".join([branch.html() for branch in self.branches])
        return f'<details open="" style="{_STYLE}"><summary>{text}</summary>{inside}</details>'


def html_of_tree(text: str) -> str:
    """Return the HTML of a tree of ``├─`` and ``└─``; other lines belong to the branch above."""
    first, *others = text.rstrip("\n").split("\n")
    path = [_Branch(first)]
    for line in others:
        matched = _LINE.fullmatch(line)
        assert matched is not None  # everything matches
        indent, mark, rest = matched.groups()
        if mark is None:
            path[-1].lines.append(line[len(indent) :].removeprefix("│ "))
            continue
        del path[len(indent) // 3 + 1 :]
        branch = _Branch(rest)
        path[-1].branches.append(branch)
        path.append(branch)
    return path[0].html()
