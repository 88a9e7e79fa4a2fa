"""Moves modules into other folders: ``python tools/move_modules.py [DISTRIBUTION ...]``.

`moves.toml` says what goes where. Files are moved by ``git mv``; imports, and the names of modules
and files in texts, follow. What has been moved already stays where it is, so work that began before
a move can be replayed: merge it, and run this again. What may still name an old place is listed.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from textwrap import wrap
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
_TEXTS: Final = (
    *(".c", ".cfg", ".h", ".ini", ".ipynb", ".json", ".md", ".py", ".pyi", ".rst", ".toml"),
    *(".txt", ".yaml", ".yml", "Makefile"),
)
# Saved files, and the table that reads them, name the places of their time.
_KEPT: Final = re.compile(
    r"^(CHANGELOG\.md|tools/moves\.toml|tests/saved_files/.*|.*/old_places\.py)$"
)

_TABLE: Final = '''"""Where pickles find what moved modules defined: `forward_old_places`."""

from __future__ import annotations

from typing import Final

OLD_PLACES: Final = {}
'''


@dataclass(frozen=True)
class Moves:
    """New places of modules by their old ones, and the docstrings of new packages."""

    modules: dict[str, str]
    titles: dict[str, str]

    @classmethod
    def read(cls, distributions: list[str]) -> Moves:
        """Read the map; of all distributions unless some are named."""
        listed = tomllib.loads((ROOT / "tools/moves.toml").read_text())
        if unknown := set(distributions) - set(listed):
            raise SystemExit(f"moves.toml has no {sorted(unknown)}, but {sorted(listed)}.")
        modules: dict[str, str] = {}
        titles: dict[str, str] = {}
        for name in distributions or listed:
            for package, rooms in listed[name].items():
                for room, (title, names) in rooms.items():
                    target = f"{package}.{room}" if room != "." else package
                    if title:
                        titles[target] = title
                    for each in names.split():
                        old, _, new = each.partition(":")
                        modules[f"{package}.{old}"] = f"{target}.{new or old}"
        return cls(modules, titles)

    def now(self, module: str) -> str:
        """Return the place of a module now."""
        parts = module.split(".")
        for length in range(len(parts), 0, -1):
            if new := self.modules.get(".".join(parts[:length])):
                return ".".join([new, *parts[length:]])
        return module

    def before(self, module: str) -> str:
        """Return the place of a module before the move."""
        old_by_new = {new: old for old, new in self.modules.items()}
        parts = module.split(".")
        for length in range(len(parts), 0, -1):
            if old := old_by_new.get(".".join(parts[:length])):
                return ".".join([old, *parts[length:]])
        return module


def main() -> int:
    """Move what has not been moved, rewrite what names it; return the exit status."""
    moves = Moves.read(sys.argv[1:])
    moved = {new for old, new in moves.modules.items() if _move(old, new)}
    for package, title in moves.titles.items():
        folder = _path(package)
        if folder is not None and not (file := folder / "__init__.py").exists():
            file.write_text(f'"""{title}"""\n')
    _git("add", "-A")
    for path in _tracked(".py"):
        _rewrite_imports(path, moves, moved)
    _rewrite_texts(moves)
    _forward_old_places(moves)
    files = _git("diff", "--name-only", "--diff-filter=d", "HEAD", "--", "*.py").splitlines()
    rules = ["--select", "I001", "--fix", "-q"]
    subprocess.run([sys.executable, "-m", "ruff", "check", *rules, *files], check=False)
    subprocess.run([sys.executable, "-m", "ruff", "format", "-q", *files], check=True)
    _git("add", "-A")
    _report(moves)
    return 0


# -- files -----------------------------------------------------------------------------------------


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout


def _tracked(*suffixes: str) -> list[Path]:
    listed = _git("ls-files").splitlines()
    found = [each for each in listed if each.endswith(suffixes) and not _KEPT.match(each)]
    return [ROOT / each for each in found if (ROOT / each).is_file()]


def _path(module: str) -> Path | None:
    """Return where a module of a distribution lies, without suffix; None for others' modules."""
    name = module.partition(".")[0]
    for root in (ROOT / "src", *ROOT.glob("*/src"), *ROOT.glob("plugins/*/src")):
        if (root / name / "__init__.py").exists():
            return root / module.replace(".", "/")
    return None


def _module(path: Path) -> str:
    """Return the name of the module in a file; empty for a file of no package."""
    parts = path.with_suffix("").parts
    if "src" not in parts:
        return ""
    return ".".join(parts[len(parts) - parts[::-1].index("src") :])


def _move(old: str, new: str) -> bool:
    """Move a module or package; return False if it lies at its new place already."""
    source, target = _path(old), _path(new)
    if source is None or target is None:
        raise SystemExit(f"No distribution holds {old} or {new}: correct tools/moves.toml.")
    if not source.is_dir():
        source, target = source.with_suffix(".py"), target.with_suffix(".py")
    if source.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        _git("mv", str(source), str(target))
        return True
    if not target.exists():
        raise SystemExit(f"There is neither {old} nor {new}: correct tools/moves.toml.")
    return False


# -- imports ---------------------------------------------------------------------------------------


def _rewrite_imports(path: Path, moves: Moves, moved: set[str]) -> None:
    text = path.read_text()
    module = _module(path.relative_to(ROOT))
    is_package = path.stem == "__init__"
    package = _package(module, is_package)
    old_package = _package(moves.before(module), is_package)
    was_moved = any(module == each or module.startswith(f"{each}.") for each in moved)
    lines = text.splitlines(keepends=True)
    found = [each for each in ast.walk(ast.parse(text)) if isinstance(each, ast.ImportFrom)]
    for node in sorted(found, key=lambda each: -each.lineno):
        source = _source(node, package if not was_moved else old_package)
        if not was_moved and not _exists(source):
            source = _source(node, old_package)  # a line from before the move
        groups: dict[str, list[str]] = defaultdict(list)
        for alias in node.names:
            called = alias.asname or alias.name
            if f"{source}.{alias.name}" in moves.modules:
                parent, _, leaf = moves.modules[f"{source}.{alias.name}"].rpartition(".")
            else:
                parent, leaf = moves.now(source), alias.name
            renamed = leaf != called or alias.asname
            groups[parent].append(f"{leaf} as {called}" if renamed else leaf)
        if set(groups) == {_source(node, package)} and _leaves(node) == next(iter(groups.values())):
            continue
        first, last = node.lineno - 1, node.end_lineno or node.lineno
        written = "".join(lines[first:last])
        if len(groups) == 1:
            place = _spelled(next(iter(groups)), package, node.level)
            new = re.sub(r"from\s+[.\w]+\s+import", f"from {place} import", written, count=1)
            only = next(iter(groups.values()))
            if len(only) == 1 and "(" not in written:
                new = re.sub(r"import [\w ]+?(?=\s*(#|$))", f"import {only[0]}", new, count=1)
        else:
            indent = written[: len(written) - len(written.lstrip())]
            comment = re.search(r"  #.*", written)
            new = "".join(
                [
                    f"{indent}from {_spelled(place, package, node.level)} import "
                    f"{', '.join(names)}{comment.group(0) if comment else ''}\n"
                    for place, names in groups.items()
                ]
            )
        lines[first:last] = [new]
    changed = "".join(lines)
    if changed != text:
        path.write_text(changed)


def _package(module: str, is_package: bool) -> str:
    return module.removesuffix(".__init__") if is_package else module.rpartition(".")[0]


def _source(node: ast.ImportFrom, package: str) -> str:
    """Return the module that an import in `package` reads, in full."""
    if not node.level:
        return node.module or ""
    parents = package.split(".")
    parents = parents[: len(parents) - node.level + 1]
    return ".".join([*parents, *([node.module] if node.module else [])])


def _leaves(node: ast.ImportFrom) -> list[str]:
    return [each.name + (f" as {each.asname}" if each.asname else "") for each in node.names]


def _exists(module: str) -> bool:
    path = _path(module)
    return path is None or path.is_dir() or path.with_suffix(".py").exists()


def _spelled(module: str, package: str, level: int) -> str:
    """Return the name of a module for an import in `package`: relative if it was."""
    if not level:
        return module
    here, there = package.split("."), module.split(".")
    common = 0
    while common < min(len(here), len(there)) and here[common] == there[common]:
        common += 1
    return "." * (len(here) - common + 1) + ".".join(there[common:])


# -- texts -----------------------------------------------------------------------------------------


def _rewrite_texts(moves: Moves) -> None:
    """Let names of modules and files in texts follow.

    These are ``package.room.module``, ``package/room/module``, ``room/module.py``, for a package
    ``dovetail_NAME`` also ``NAME.room.module``, and within it ``"room.module"`` in quotes.
    """
    replaced = dict(moves.modules)
    quoted: dict[str, dict[str, str]] = defaultdict(dict)
    for old, new in moves.modules.items():
        replaced[old.replace(".", "/")] = new.replace(".", "/")
        (top, _, short), (_, _, short_new) = old.partition("."), new.partition(".")
        if "." in short:  # a word alone in quotes may be anything
            quoted[top][short] = short_new
            replaced[f"{short.replace('.', '/')}.py"] = f"{short_new.replace('.', '/')}.py"
        if top.startswith("dovetail_"):
            replaced[old.removeprefix("dovetail_")] = new.removeprefix("dovetail_")
    full = _any_of(replaced, r"(?<![\w.])", r"(?!\w)")
    within = {top: _any_of(names, r"(?<=[\"'`])", r"(?=[\"'`:])") for top, names in quoted.items()}
    for path in _tracked(*_TEXTS):
        text = path.read_text()
        changed = full.sub(partial(_of_group, replaced.__getitem__), text)
        top = _module(path.relative_to(ROOT)).partition(".")[0]
        if top in quoted:
            names = quoted[top].__getitem__
            changed = within[top].sub(partial(_of_group, names), changed)
        if changed != text:
            path.write_text(changed)


def _of_group(names: Callable[[str], str], found: re.Match[str]) -> str:
    return names(found.group(1))


def _any_of(names: dict[str, str], before: str, after: str) -> re.Pattern[str]:
    ordered = sorted(names, key=len, reverse=True)
    return re.compile(f"{before}({'|'.join(re.escape(each) for each in ordered)}){after}")


def _forward_old_places(moves: Moves) -> None:
    """Keep the tables up by which files of earlier versions find what they name."""
    named = {
        line.partition(" ")[0]
        for path in ROOT.glob("tests/saved_files/*/names.txt")
        for line in path.read_text().splitlines()
    }
    for top in {old.partition(".")[0] for old in moves.modules}:
        path = (_path(top) or ROOT) / "old_places.py"
        text = path.read_text() if path.exists() else _TABLE
        table = re.search(r"^OLD_PLACES: Final = (\{.*?\})$", text, flags=re.M | re.S)
        assert table is not None, path
        places: dict[str, list[str]] = defaultdict(list)
        for new, old in ast.literal_eval(table[1]).items():
            full = f"{top}.{new}".rstrip(".")
            places[moves.modules.get(full, full).partition(".")[2]] += old.split()
        for old, new in moves.modules.items():
            if old in named and old.startswith(f"{top}."):
                places[new.partition(".")[2]].append(old.partition(".")[2])
        rows = [
            f'    "{new}": ' + " ".join([f'"{part}"' for part in wrap(" ".join(old), 60)]) + ",\n"
            for new, old in places.items()
        ]
        if rows:
            path.write_text(text.replace(table[1], "".join(["{\n", *rows, "}"])))


def _report(moves: Moves) -> None:
    """Print the lines that may still name an old place by a part of its name."""
    parts = {".".join(old.split(".")[-2:]) for old in moves.modules}
    spellings = [re.escape(each).replace(r"\.", "[./]") for each in sorted(parts)]
    pattern = re.compile(r"(?<![\w])(" + "|".join(spellings) + r")(?![\w])")
    for path in _tracked(*_TEXTS):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if pattern.search(line):
                print(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:140]}")


if __name__ == "__main__":
    sys.exit(main())
