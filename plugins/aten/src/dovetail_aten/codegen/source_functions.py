"""Finds functions that declarations name in the sources of a library, without importing any."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

from .errors import DeclarationError, Location


def public_functions(modules: Mapping[Path, str]) -> dict[str, str]:
    """Return the module of every public top-level name in `modules`, by file. Raises
    DeclarationError if two modules have the same name: a declaration could not say which it means.
    """
    found: dict[str, str] = {}
    for path, module in modules.items():
        for name, line in _top_level_names(path):
            if name.startswith("_"):
                continue
            if name in found:
                raise DeclarationError(
                    Location(f"{path.parent.name}/{path.name}", line),
                    f"{found[name]} has a function '{name}' too.",
                    "Rename one: declarations name functions without their module.",
                )
            found[name] = module
    return found


def composite_functions(modules: Mapping[Path, str]) -> dict[str, str]:
    """Return the module of every top-level name in `modules`, by file."""
    found: dict[str, str] = {}
    for path, module in modules.items():
        for name, _ in _top_level_names(path):
            found.setdefault(name, module)
    return found


def helper_functions(modules: Mapping[Path, str]) -> tuple[dict[str, str], frozenset[str]]:
    """Return the functions that take `k` first, with their modules, and their `TENSORS_ONLY`."""
    found: dict[str, str] = {}
    tensors_only: set[str] = set()
    for path, module in modules.items():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            match node:
                case ast.FunctionDef(
                    name=name, args=ast.arguments(args=[ast.arg(arg="k"), *_])
                ) if name[0] != "_":
                    found[name] = module
                case ast.Assign(
                    targets=[ast.Name(id="TENSORS_ONLY")], value=ast.Call(args=[literal])
                ):
                    tensors_only |= ast.literal_eval(literal)
    return found, frozenset(tensors_only)


def _top_level_names(path: Path) -> list[tuple[str, int]]:
    names = []
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        match node:
            case ast.FunctionDef(name=name):
                names.append((name, node.lineno))
            case ast.Assign(targets=[ast.Name(id=name)]):
                names.append((name, node.lineno))
    return names
