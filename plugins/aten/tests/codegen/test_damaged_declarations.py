"""Damaged files of declarations, and lists of selective builds: each is read or refused by a
`DeclarationError`, in time and memory that follow from its size.

`DOVETAIL_FILES=100000` tries more of them, `DOVETAIL_FIRST_FILE` begins elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from limits import limited

from dovetail_aten.codegen import (
    DeclarationError,
    DerivativeError,
    NativeFunction,
    read_derivatives,
    read_native_functions,
    read_selection,
)
from dovetail_aten.codegen.readers.documentation import read_documentation

FILES = int(os.environ.get("DOVETAIL_FILES", "1200"))
FIRST = int(os.environ.get("DOVETAIL_FIRST_FILE", "0"))
FAMILY = Path(read_selection.__code__.co_filename).parents[1] / "families" / "special"
FUNCTIONS = read_native_functions(FAMILY / "native_functions.yaml")


def named_in(path: Path) -> list[NativeFunction]:
    """Return the functions whose names are in a file: all others only cost time."""
    content = path.read_bytes()
    return [each for each in FUNCTIONS if each.base_name.encode() in content]


READERS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "native_functions.yaml": ("\n- ", read_native_functions),
    "derivatives.yaml": ("\n- ", lambda path: read_derivatives(path, FUNCTIONS)),
    "docs.yaml": ("\n\n", lambda path: read_documentation([path], named_in(path))),
    "selection.yaml": ("\n", read_selection),
}
"""What stands between the entries of each file, and what reads it."""

SELECTION = "ops:\n- add\n- mul.Tensor\n- aten::sum\nwithout:\n- exp\n- sin\n"
PIECES = (
    *("&a ", "*a", "[*a, *a]", "{", "}", "[", "]", "- ", ": ", "\n", "\t", "|", ">", "!!int ", "#"),
    *("!!python/name:os.system", "!!binary ", "!!set {a}", "? ", "---\n", "...\n", "%YAML 9\n"),
    *("<<: *a", "'", '"', '"""', "\\N{BULLET}", "\x00", "\x1b[2J", "\ufeff", "\ud7ff", "٣"),
    *("null", "~", "true", "1e999", "0x", "9" * 5000, "a" * 5000, "[" * 600, "- " * 600, "(" * 600),
    *("__import__('os')", "); import os  #", "{0.__class__}", "%s", "2001-99-99", "=", "&a [*a]"),
)


def bomb(depth: int) -> str:
    """Return entries that would be 2 to the power of `depth` long without aliases."""
    lines = ["a0: &a0 [x, x]"]
    lines += [f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, depth)]
    return "{" + ", ".join(lines) + "}"


@cache
def entries_of(name: str) -> list[str]:
    """Return the texts of the entries of a valid file."""
    text = SELECTION if name == "selection.yaml" else (FAMILY / name).read_text(encoding="utf-8")
    return text.split(READERS[name][0])[1:]


def damaged(name: str, random: Random) -> bytes:
    """Return the text of some entries of a file, with damages."""
    entries, between = entries_of(name), READERS[name][0]
    begin = random.randrange(len(entries))
    end = begin + random.choice((1, 1, 2, 4))
    text = between.join(["", *entries[begin:end]]).lstrip("\n")
    for _ in range(random.randint(1, 4)):
        place = random.randrange(len(text) + 1)
        end = min(len(text), place + random.choice((0, 0, 1, 3, 30)))
        piece = random.choice(PIECES) if random.random() < 0.9 else bomb(random.randint(2, 60))
        text = text[:place] + piece + text[end:]
    content = bytearray(text.encode("utf-8", "surrogatepass"))
    if random.random() < 0.2:
        content[random.randrange(len(content))] = random.randrange(256)
    return bytes(content)


def check(path: Path, content: bytes, *, traced: bool) -> None:
    """Read a file: it is fine, or refused by its line in few words, soon and in little memory."""
    path.write_bytes(content)
    try:
        # PyYAML takes a second for 500 open brackets, several while memory is traced.
        with limited(15 + len(content) / 5_000, 4e6 + 2000 * len(content), traced=traced):
            READERS[path.name][1](path)
    except (DeclarationError, DerivativeError) as error:
        assert path.name in str(error).partition(": ")[0]
        assert len(str(error)) < 2000
        assert "\x1b" not in str(error)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(
    "text", ["? {}", "- ? {}", "- func: {}", "a: {{summary: {}}}", "ops: [{}]"]
)
def test_aliases_stand_for_no_more_than_the_file_holds(
    name: str, text: str, tmp_path: Path
) -> None:
    for depth in (3, 26, 60):
        check(tmp_path / name, text.format(bomb(depth)).encode(), traced=True)
    with pytest.raises((DeclarationError, DerivativeError), match="aliases stand for more"):
        READERS[name][1](tmp_path / name)


@pytest.mark.parametrize("name", READERS)
def test_a_damaged_declaration_is_read_or_refused_by_its_line(name: str, tmp_path: Path) -> None:
    for seed in range(FIRST, FIRST + FILES // 4):
        content = damaged(name, Random(f"{name} {seed}"))
        try:
            check(tmp_path / name, content, traced=seed < FIRST + 100 or seed % 64 == 0)
        except BaseException as error:
            error.add_note(f"DOVETAIL_FILES=4 DOVETAIL_FIRST_FILE={seed}: {content[:2000]!r}")
            raise
