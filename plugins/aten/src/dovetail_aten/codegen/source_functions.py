"""Finds functions that declarations name in the sources of a library, without importing any."""

from __future__ import annotations

import ast
from pathlib import Path

from .errors import DeclarationError, Location


def public_functions(folder: Path, package: str) -> dict[str, str]:
    """Return the module of every public top-level name in the modules of `folder`.

    Raises
    ------
    DeclarationError
        If two modules have the same name: a declaration could not say which it means.
    """
    found: dict[str, str] = {}
    for path in sorted(folder.glob("*.py")):
        module = f"{package}.{folder.name}.{path.stem}"
        for name, line in _top_level_names(path):
            if name.startswith("_"):
                continue
            if name in found:
                raise DeclarationError(
                    Location(f"{folder.name}/{path.name}", line),
                    f"{found[name]} has a function '{name}' too.",
                    "Rename one: declarations name functions without their module.",
                )
            found[name] = module
    return found


def composite_functions(folder: Path | None, package: str) -> dict[str, str]:
    """Return the module of every top-level name in the modules of `folder`."""
    found: dict[str, str] = {}
    for path in sorted(folder.glob("*.py")) if folder is not None else ():
        for name, _ in _top_level_names(path):
            found.setdefault(name, f"{package}.{path.parent.name}.{path.stem}")
    return found


def helper_functions(place: Path | None, package: str) -> tuple[dict[str, str], frozenset[str]]:
    """Return the functions that take `k` first, with their modules, and their `TENSORS_ONLY`."""
    if place is None:
        return {}, frozenset()
    module = f"{package}.derivative_helpers"
    files = {place: module}
    if place.is_dir():
        files = {path: f"{module}.{path.stem}" for path in sorted(place.glob("*.py"))}
    modules: dict[str, str] = {}
    tensors_only: set[str] = set()
    for path, module in files.items():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            match node:
                case ast.FunctionDef(
                    name=name, args=ast.arguments(args=[ast.arg(arg="k"), *_])
                ) if name[0] != "_":
                    modules[name] = module
                case ast.Assign(
                    targets=[ast.Name(id="TENSORS_ONLY")], value=ast.Call(args=[literal])
                ):
                    tensors_only |= ast.literal_eval(literal)
    return modules, frozenset(tensors_only)


def _top_level_names(path: Path) -> list[tuple[str, int]]:
    names = []
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        match node:
            case ast.FunctionDef(name=name):
                names.append((name, node.lineno))
            case ast.Assign(targets=[ast.Name(id=name)]):
                names.append((name, node.lineno))
    return names
