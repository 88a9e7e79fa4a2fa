"""Runs pages of prose with Python between: each ``python`` block in turn, in one interpreter; the
``text`` block that follows one says what it prints. Finds links of pages that lead nowhere.

``python tests/support/pages.py PAGE ...`` writes what the blocks print now into the pages.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import NamedTuple

from fresh_interpreter import printed_by

_PIECES = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<shown>.*?)^```\n)?", re.DOTALL | re.MULTILINE
)
_LINK_TO_FILE = re.compile(r"\]\((?!https?:|#)([^)#]+)")
_PROGRAM = """
import contextlib, io, json, sys
scope = {"__name__": "__main__"}
printed = []
for name, code in json.load(sys.stdin).items():
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, name, "exec"), scope)
    printed.append(out.getvalue())
json.dump(printed, sys.stdout)
"""


class Piece(NamedTuple):
    """A piece of a page: its code, what the page shows that it prints, and what it does print."""

    code: str
    shown: str
    printed: str


def pieces(page: Path) -> list[Piece]:
    """Run a page in a fresh interpreter, in which warnings are errors, and return its pieces."""
    found = list(_PIECES.finditer(page.read_text(encoding="utf-8")))
    codes = {f"<piece {n} of {page.name}>": match["code"] for n, match in enumerate(found, 1)}
    printed = json.loads(printed_by(_PROGRAM, given=json.dumps(codes)))
    return [
        Piece(match["code"], match["shown"] or "", text)
        for match, text in zip(found, printed, strict=True)
    ]


def dead_links(page: Path) -> list[str]:
    """Return the files that a page links to and that are not there, but for those that the site is
    built with.
    """
    links = _LINK_TO_FILE.findall(page.read_text(encoding="utf-8"))
    links = [link for link in links if not link.startswith("_made/")]
    return [link for link in links if not (page.parent / link).exists()]


def write(page: Path) -> None:
    """Show in a page what its pieces print now."""
    printed = iter([piece.printed for piece in pieces(page)])

    def piece(match: re.Match[str]) -> str:
        text = next(printed)
        return f"```python\n{match['code']}```\n" + (f"\n```text\n{text}```\n" if text else "")

    page.write_text(_PIECES.sub(piece, page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        write(Path(name))
