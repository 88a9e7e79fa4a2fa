"""Moves the base library's operators into folders by family: ``python tools/move_families.py``.

Run in the root of a clean checkout. `family_map` says what goes where. Modules are moved by
``git mv`` and divided where several families share them, declarations are divided by operator,
imports and names in texts follow, and the generated code is written anew. A checkout that has been
moved is left as it is, so work that began before can be replayed: check it out, and run this.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from shutil import rmtree
from typing import Final

from family_map import (
    DECLARATIONS,
    EDITS,
    KEPT_TEXTS,
    OPERATORS,
    RENAMED,
    ROOMS,
    SHARED,
    SPLIT,
    TITLES,
)

PACKAGE: Final = "dovetail_aten"
SOURCE: Final = Path("plugins/aten/src") / PACKAGE
_SKIPPED: Final = ("_generated/", "saved_files/", "tools/family_map.py", "tools/move_families.py")
_TEXTS: Final = (".md", ".toml", ".yaml", ".yml", ".svg", ".txt", ".cfg", ".pyi", "Makefile")


def main() -> int:
    """Move what has not been moved; return the exit status."""
    if (SOURCE / "families").exists():
        print("The families have been moved.")
        return 0
    shared = _share()
    moves = module_moves()
    keys = family_keys(moves)
    _move_files(moves)
    _divide_declarations()
    rewritten = _Imports(moves, shared)
    for path in _tracked(".py"):
        rewritten.rewrite(path)
    _divide_modules()
    _rewrite_texts(moves, keys)
    _apply_edits()
    _write_old_places(moves, keys)
    _tidy()
    # Compiled modules that are left would make a package without a file of the old folder.
    rmtree(SOURCE / "array_kernels", ignore_errors=True)
    subprocess.run([sys.executable, "-m", "dovetail_aten.codegen"], check=True)
    subprocess.run(["git", "add", "-A"], check=True)
    return 0


def module_moves() -> dict[str, str]:
    """Return the new place of every module that moves, by its old one, without the package."""
    moves = dict(RENAMED)
    for room, (name, families) in ROOMS.items():
        for family, modules in families.items():
            listed = modules.split()
            parts = {part for parts in SPLIT.values() for part in parts}
            folder = f"families.{family}.{name}"
            is_folder = len(listed) > 1 or any(part.startswith(f"{folder}.") for part in parts)
            for module in listed:
                moves[f"{room}.{module}"] = f"{folder}.{module}" if is_folder else folder
    for path in sorted((SOURCE / "array_kernels").glob("*.py")):
        if path.stem != "__init__":
            moves.setdefault(f"array_kernels.{path.stem}", f"kernel_support.{path.stem}")
    moves["array_kernels"] = "kernel_support"
    return moves


def family_keys(moves: dict[str, str]) -> dict[str, str]:
    """Return the new names of families of kernels by the old ones: ``scans.Scans``."""
    listed = ast.parse((SOURCE / "array_kernels/families.py").read_text())
    names: list[str] = [
        name
        for node in listed.body
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and node.target.id == "PLACES"
        and node.value is not None
        for name in ast.literal_eval(node.value)
    ]
    keys = {}
    for name in names:
        module, _, cls = name.partition(".")
        keys[name] = f"{moves[f'array_kernels.{module}'].removeprefix('families.')}.{cls}"
    return keys


# -- files -----------------------------------------------------------------------------------------


def _file(module: str) -> Path:
    return SOURCE / f"{module.replace('.', '/')}.py"


def _move_files(moves: dict[str, str]) -> None:
    for old, new in moves.items():
        if old == "array_kernels":
            _git_mv(SOURCE / "array_kernels/__init__.py", SOURCE / "kernel_support/__init__.py")
        else:
            _git_mv(_file(old), _file(new))


def _git_mv(old: Path, new: Path) -> None:
    new.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "mv", str(old), str(new)], check=True)


def _divide_declarations() -> None:
    families = SOURCE / "families"
    _git_mv(SOURCE / "declarations/README.md", families / "README.md")
    for name in ("native_functions.yaml", "derivatives.yaml", "docs.yaml", "deprecated.yaml"):
        blocks: dict[str, list[str]] = defaultdict(list)
        heads: dict[str, str] = {}
        for old, new in DECLARATIONS.items():
            path = SOURCE / "declarations" / old / name
            if not path.exists():
                continue
            head, parts = _blocks(path.read_text())
            moved_whole = old == new or old not in ("nn", "activations")
            if moved_whole and not (families / new / name).exists():
                _git_mv(path, families / new / name)
            else:
                subprocess.run(["git", "rm", "-q", str(path)], check=True)
            heads.setdefault(new, head)
            for part in parts:
                blocks[OPERATORS.get(_operator(part), new)].append(part)
        for family, parts in blocks.items():
            target = families / family / name
            target.parent.mkdir(parents=True, exist_ok=True)
            head = TITLES.get((family, name), heads.get(family, ""))
            target.write_text("\n\n".join([head.strip(), *parts]) + "\n")
    for place in sorted(families.iterdir()):
        if place.is_dir():
            for folder in [place, *[each for each in place.iterdir() if each.is_dir()]]:
                (folder / "__init__.py").touch()
    (families / "__init__.py").write_text(
        '"""The operators of the base library, by family: a folder has all of each operator."""\n'
    )


def _blocks(text: str) -> tuple[str, list[str]]:
    """Return the comment at the head of a file, and its entries with the comments before them."""
    parts = re.split(r"\n\n+", text.strip())
    head = ""
    if parts[0].startswith("#") and not re.search(r"^[^#]", parts[0], re.M):
        head = parts.pop(0)
    entries: list[str] = []
    comment = ""
    for part in parts:
        if not re.search(r"^[^#\n]", part, re.M):
            comment += f"{part}\n\n"
            continue
        entries.append(comment + part)
        comment = ""
    return head, entries


def _operator(block: str) -> str:
    """Return the name, without overload, of the operator of an entry."""
    found = re.search(r"^- (?:func|name): ([\w]+)|^(\w+):", block, re.M)
    return (found.group(1) or found.group(2)) if found else ""


# -- imports ---------------------------------------------------------------------------------------


class _Imports:
    """Rewrites the imports of modules that have moved."""

    def __init__(self, moves: dict[str, str], shared: dict[tuple[str, str], str]) -> None:
        self._shared = shared
        self._moves = {f"{PACKAGE}.{old}": f"{PACKAGE}.{new}" for old, new in moves.items()}
        self._before = {new: old for old, new in self._moves.items()}

    def rewrite(self, path: Path) -> None:
        """Rewrite the imports in a file, which lies where it has been moved to."""
        text = path.read_text()
        if PACKAGE not in text and not path.is_relative_to(SOURCE):
            return
        now, before = self._package_of(path)
        lines = text.splitlines(keepends=True)
        for node in sorted(
            (each for each in ast.walk(ast.parse(text)) if isinstance(each, ast.ImportFrom)),
            key=lambda each: -each.lineno,
        ):
            source = node.module or ""
            if node.level:
                if not now:
                    continue
                parents = before.split(".")
                parents = parents[: len(parents) - node.level + 1]
                source = ".".join([*parents, *([source] if source else [])])
            if source.partition(".")[0] != PACKAGE:
                continue
            new = self._statements(node, source, now)
            if new is None:
                continue
            first, last = node.lineno - 1, node.end_lineno or node.lineno
            old_text = "".join(lines[first:last])
            lines[first:last] = [self._replaced(node, old_text, new)]
        changed = "".join(lines)
        if changed != text:
            path.write_text(changed)

    def _package_of(self, path: Path) -> tuple[str, str]:
        """Return the package of a file, now and before; empty outside of this package."""
        if not path.is_relative_to(SOURCE):
            return "", ""
        inner = path.relative_to(SOURCE.parent).with_suffix("")
        module = ".".join(inner.parts)
        if inner.name == "__init__":
            package = module.removesuffix(".__init__")
            return package, self._before.get(package, package)
        old = self._before.get(module, module)
        return module.rpartition(".")[0], old.rpartition(".")[0]

    def _statements(
        self, node: ast.ImportFrom, source: str, package: str
    ) -> list[tuple[str, list[str]]] | None:
        """Return modules and what is imported from each now; None if nothing changes."""
        groups: dict[str, list[str]] = defaultdict(list)
        for alias in node.names:
            full = f"{source}.{alias.name}"
            name = alias.name if alias.asname is None else f"{alias.name} as {alias.asname}"
            if full in self._moves:
                parent, _, leaf = self._moves[full].rpartition(".")
                called = alias.asname or alias.name
                groups[parent].append(leaf if leaf == called else f"{leaf} as {called}")
            else:
                place = self._shared.get((source, alias.name), source)
                groups[self._moves.get(place, place)].append(name)
        made = [
            (self._spelled(module, package, node.level), names) for module, names in groups.items()
        ]
        given = [
            each.name if each.asname is None else f"{each.name} as {each.asname}"
            for each in node.names
        ]
        if made == [("." * node.level + (node.module or ""), given)]:
            return None
        return made

    @staticmethod
    def _spelled(module: str, package: str, level: int) -> str:
        """Return the name of a module for an import in `package`: relative if it was."""
        if not level:
            return module
        here, there = package.split("."), module.split(".")
        common = 0
        while common < min(len(here), len(there)) and here[common] == there[common]:
            common += 1
        return "." * (len(here) - common + 1) + ".".join(there[common:])

    @staticmethod
    def _replaced(node: ast.ImportFrom, text: str, new: Sequence[tuple[str, list[str]]]) -> str:
        if len(new) == 1 and len(new[0][1]) == len(node.names):
            names = [each.asname or each.name for each in node.names]
            if [each.rpartition(" as ")[2] for each in new[0][1]] == names and all(
                each.partition(" as ")[0] == alias.name
                for each, alias in zip(new[0][1], node.names, strict=True)
            ):
                return re.sub(r"from\s+[.\w]+\s+import", f"from {new[0][0]} import", text, count=1)
        indent = text[: len(text) - len(text.lstrip())]
        comment = re.search(r"  #.*", text)
        tail = comment.group(0) if comment else ""
        return "".join(
            [f"{indent}from {module} import {', '.join(names)}{tail}\n" for module, names in new]
        )


# -- functions that others import ------------------------------------------------------------------


def _share() -> dict[tuple[str, str], str]:
    """Put functions of families that others import into modules of their own; return these by
    module and name.
    """
    places = {}
    for old, parts in SHARED.items():
        path = _file(old)
        for new, listed in parts.items():
            names = listed.split()
            text = path.read_text()
            lines = text.splitlines(keepends=True)
            body = ast.parse(text).body
            imports = [node for node in body if isinstance(node, (ast.Import, ast.ImportFrom))]
            taken = [node for node in body if set(_names(node)) & set(names)]
            if absent := set(names) - {name for node in taken for name in _names(node)}:
                raise ValueError(f"{old} does not define {sorted(absent)}: correct SHARED.")
            defined = ["".join(lines[_first_line(n) - 1 : _last_line(n, body)]) for n in taken]
            header = "".join([f"{ast.unparse(node)}\n" for node in imports])
            _file(new).write_text(f'"""{TITLES[new, ""]}"""\n\n{header}\n\n' + "\n\n".join(defined))
            for node in reversed(taken):
                del lines[_first_line(node) - 1 : _last_line(node, body)]
            last = max(node.end_lineno or 0 for node in imports)
            lines[last:last] = [f"from .{new.rpartition('.')[2]} import {', '.join(names)}\n"]
            path.write_text("".join(lines))
            for name in names:
                places[f"{PACKAGE}.{old}", name] = f"{PACKAGE}.{new}"
                places[f"{PACKAGE}.{new}", name] = f"{PACKAGE}.{new}"
            files = [str(path), str(_file(new))]
            subprocess.run(["git", "add", *files], check=True)
            rules = ["--select", "F401,F811,I001", "--fix", "-q"]
            subprocess.run([sys.executable, "-m", "ruff", "check", *rules, *files], check=False)
    return places


def _last_line(node: ast.stmt, body: Sequence[ast.stmt]) -> int:
    """Return the last line of a statement, with the text below that documents a value."""
    place = body.index(node)
    match body[place + 1 : place + 2]:
        case [ast.Expr(value=ast.Constant(value=str()), end_lineno=int(last))] if isinstance(
            node, (ast.Assign, ast.AnnAssign)
        ):
            return last
    return node.end_lineno or node.lineno


# -- modules that are divided ----------------------------------------------------------------------


def _divide_modules() -> None:
    for old, parts in SPLIT.items():
        path = _file(old)
        text = path.read_text()
        tree = ast.parse(text)
        lines = text.splitlines(keepends=True)
        imports = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
        others = {
            name: "".join(lines[_first_line(node) - 1 : node.end_lineno])
            for node in tree.body
            for name in _names(node)
        }
        package = f"{PACKAGE}.{old}".rpartition(".")[0]
        for new, listed in parts.items():
            target = _file(new)
            into = f"{PACKAGE}.{new}".rpartition(".")[0]
            statements = [_import_from(node, package, into) for node in imports]
            defined = [others.pop(name) for name in _with_private(listed.split(), tree, others)]
            if target.exists():
                _merge(target, statements, defined)
            else:
                title = TITLES[new, ""]
                target.parent.mkdir(parents=True, exist_ok=True)
                future = "from __future__ import annotations\n\n"
                rest = [each for each in statements if "__future__" not in each]
                target.write_text(
                    f'"""{title}"""\n\n{future}' + "".join(rest) + "\n\n" + "\n\n".join(defined)
                )
        if any(not name.startswith("__") for name in others):
            raise ValueError(f"{old} has {sorted(others)} too: say in SPLIT where they go.")
        subprocess.run(["git", "rm", "-qf", str(path)], check=True)


def _first_line(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", [])
    lines: list[int] = [node.lineno, *[each.lineno for each in decorators]]
    return min(lines)


def _names(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case ast.Assign(targets=[ast.Tuple(elts=names)]):
            for each in names:
                if isinstance(each, ast.Name):
                    yield each.id


def _with_private(names: list[str], tree: ast.Module, others: Mapping[str, str]) -> Iterator[str]:
    """Yield names, in the order of their module, with the private ones that they use."""
    found = {name: node for node in tree.body for name in _names(node) if name in others}
    wanted, waiting = set(names), list(names)
    while waiting:
        for node in ast.walk(found[waiting.pop()]):
            if isinstance(node, ast.Name) and node.id in found and node.id not in wanted:
                wanted.add(node.id)
                waiting.append(node.id)
    yield from [name for name in found if name in wanted]


def _import_from(node: ast.Import | ast.ImportFrom, package: str, into: str) -> str:
    if isinstance(node, ast.ImportFrom) and node.level:
        parents = package.split(".")
        parents = parents[: len(parents) - node.level + 1]
        module = ".".join([*parents, *([node.module] if node.module else [])])
        node = ast.ImportFrom(_Imports._spelled(module, into, 1), node.names, 0)
    return f"{ast.unparse(node)}\n"


def _merge(target: Path, statements: list[str], defined: list[str]) -> None:
    text = target.read_text()
    last = max(
        node.end_lineno or 0
        for node in ast.parse(text).body
        if isinstance(node, (ast.Import, ast.ImportFrom))
    )
    lines = text.splitlines(keepends=True)
    rest = [each for each in statements if "__future__" not in each]
    lines[last:last] = rest
    target.write_text("".join(lines).rstrip() + "\n\n\n" + "\n\n".join(defined))


# -- texts -----------------------------------------------------------------------------------------


def _tracked(*suffixes: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=True
    )
    return [
        Path(line)
        for line in sorted(set(listed.stdout.splitlines()))
        if line.endswith(suffixes)
        and not any(part in line for part in _SKIPPED)
        and Path(line).is_file()
    ]


def _rewrite_texts(moves: dict[str, str], keys: dict[str, str]) -> None:
    """Let names of modules, files and families in texts follow."""
    short = {old: f"{new.partition('.')[0]}.{new.rpartition('.')[2]}" for old, new in keys.items()}
    replaced: dict[str, str] = {}
    for old, new in moves.items():
        replaced[f"{PACKAGE}.{old}"] = f"{PACKAGE}.{new}"
        if "." in old:
            replaced[f"{old.replace('.', '/')}.py"] = f"{new.replace('.', '/')}.py"
    for old, parts in SPLIT.items():
        first = next(iter(parts))
        replaced[f"{PACKAGE}.{old}"] = f"{PACKAGE}.{first}"
    for old, new in DECLARATIONS.items():
        for name in ("native_functions.yaml", "derivatives.yaml", "docs.yaml"):
            replaced[f"declarations/{old}/{name}"] = f"families/{new}/{name}"
            if old != new:
                replaced[f"{old}/{name}"] = f"{new}/{name}"
    pattern = re.compile(
        r"(?<![\w.])("
        + "|".join(re.escape(each) for each in sorted(replaced, key=lambda each: -len(each)))
        + r")(?![\w])"
    )
    quoted = re.compile(r"([\"'`])(" + "|".join(re.escape(each) for each in sorted(short)) + r")\1")
    for path in _tracked(".py", *_TEXTS):
        if str(path) in KEPT_TEXTS:
            continue
        text = path.read_text()
        new_text = pattern.sub(lambda found: replaced[found.group(1)], text)
        new_text = quoted.sub(
            lambda found: f"{found.group(1)}{short[found.group(2)]}{found.group(1)}", new_text
        )
        if new_text != text:
            path.write_text(new_text)
    listing = SOURCE / "kernel_support/families.py"
    text = listing.read_text()
    start = text.index("PLACES: Final = (\n")
    end = text.index(")\n", start)
    rows = "".join([f'    "{new}",\n' for new in keys.values()])
    listing.write_text(f"{text[:start]}PLACES: Final = (\n{rows}{text[end:]}")


def _apply_edits() -> None:
    for file, pairs in EDITS.items():
        path = Path(file)
        text = path.read_text()
        for old, new in pairs:
            if old not in text:
                raise ValueError(f"{file} has no {old!r}: the edit in family_map is out of date.")
            text = text.replace(old, new)
        path.write_text(text)


def _write_old_places(moves: dict[str, str], keys: dict[str, str]) -> None:
    made = {module for parts in SHARED.values() for module in parts}
    moved = {
        old: new
        for old, new in moves.items()
        if old.startswith("array_kernels") and old not in made
    }
    generated = "_generated.functions"
    gone = set(DECLARATIONS) - set(DECLARATIONS.values())
    tables = {
        "MOVED": moved,
        "FORWARDED": {f"{generated}.{family}": generated for family in sorted(gone)},
        "FAMILIES": {
            old: new
            for old, full in keys.items()
            if (new := f"{full.partition('.')[0]}.{full.rpartition('.')[2]}") != old
        },
    }
    path = SOURCE / "old_places.py"
    text = path.read_text()
    for name, table in tables.items():
        rows = "".join([f'    "{old}": "{new}",\n' for old, new in table.items()])
        empty = f"{name}: Final[dict[str, str]] = {{}}"
        text = text.replace(empty, f"{empty[:-1]}\n{rows}}}")
    path.write_text(text)


def _tidy() -> None:
    """Remove imports that nothing uses, sort the others, and format."""
    changed = subprocess.run(
        ["git", "ls-files", "-mo", "--exclude-standard"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    staged = subprocess.run(
        ["git", "diff", "--cached", "--name-only", "--diff-filter=d"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    files = sorted({each for each in (*changed, *staged) if each.endswith(".py")})
    files = [each for each in files if Path(each).exists()]
    rules = ["--select", "F401,F811,I001", "--fix", "-q"]
    subprocess.run([sys.executable, "-m", "ruff", "check", *rules, *files], check=False)
    subprocess.run([sys.executable, "-m", "ruff", "format", "-q", *files], check=True)


if __name__ == "__main__":
    sys.exit(main())
