"""Reads in the sources of a package which operators its functions call, without importing any."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

_OPERATORS: Final = "_generated"
"""The package whose module ``functions`` holds the operators."""

Place: TypeAlias = tuple[str, str]
"""A module of the package, by its path without suffix, and a name at its top level; of a method,
``Class.method``.
"""


@dataclass
class _Module:
    """What a module binds at its top level.

    Attributes
    ----------
    defined
        The statement that defines each name.
    imported
        Where names come from that other modules of the package define.
    operators
        The names that stand for the module of the operators.
    """

    defined: dict[str, ast.stmt] = field(default_factory=dict)
    imported: dict[str, Place] = field(default_factory=dict)
    operators: set[str] = field(default_factory=set)


class SourceCalls:
    """Finds which operators the functions of a package call, at whatever depth.

    An operator is an attribute of the generated functions (``F.add`` with ``from _generated import
    functions as F``), or of the namespace `k` that derivative helpers take.

    Parameters
    ----------
    folder
        The folder of the package.
    package
        Its import name.
    """

    def __init__(self, folder: Path, package: str) -> None:
        self._folder = folder
        self._package = package
        self._modules: dict[str, _Module] = {}

    def called_by(self, module: str, name: str) -> list[str]:
        """Return the names that `name` of `module` takes from the operators, in order of
        appearance; none for what is not defined there.

        Parameters
        ----------
        module
            Its import name, ``dovetail_aten.families.activations.composites``.
        name
            A function, or ``Class.method``.
        """
        called: dict[str, None] = {}
        start = (module.removeprefix(f"{self._package}.").replace(".", "/"), name)
        seen, waiting = {start}, [start]
        while waiting:
            place = waiting.pop()
            found = self._module(place[0])
            if (statement := found.defined.get(place[1])) is None:
                continue
            owners = found.operators | {"k"}
            for node in _run(statement):
                match node:
                    case ast.Attribute(value=ast.Name(id=owner), attr=attribute) if owner in owners:
                        called[attribute] = None
                    case ast.Call(func=ast.Name(id="bool" | "float" | "int"), args=[asked]) if any(
                        [isinstance(n, ast.Name) and n.id in owners for n in ast.walk(asked)]
                    ):
                        called["_local_scalar_dense"] = None  # which reads the tensor
                    case ast.Name(id=used) if used in found.defined or used in found.imported:
                        target = found.imported.get(used, (place[0], used))
                        if target not in seen:
                            seen.add(target)
                            waiting.append(target)
        return list(called)

    def methods(self, module: str) -> list[str]:
        """Return the functions and methods that `module` defines, ``f`` and ``Class.f``."""
        found = self._module(module.removeprefix(f"{self._package}.").replace(".", "/"))
        return [name for name, node in found.defined.items() if isinstance(node, ast.FunctionDef)]

    def bound_on_import(self, module: str, function: str) -> list[str]:
        """Return the first argument of the calls of `function` that importing `module` makes, where
        it is a text.
        """
        found = self._module(module.removeprefix(f"{self._package}.").replace(".", "/"))
        return [
            node.args[0].value
            for statement in found.defined.values()
            if isinstance(statement, ast.Assign | ast.AnnAssign)
            for node in ast.walk(statement)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == function
            and node.args
            and isinstance(node.args[0], ast.Constant)
            and isinstance(node.args[0].value, str)
        ]

    def _module(self, path: str) -> _Module:
        known = self._modules.get(path)
        if known is None:
            known = self._modules[path] = self._read(path)
        return known

    def _read(self, path: str) -> _Module:
        file = self._folder / f"{path}.py"
        if not file.exists():
            file = self._folder / path / "__init__.py"
        module = _Module()
        if not file.exists():
            return module
        for statement in ast.parse(file.read_text(encoding="utf-8")).body:
            match statement:
                case ast.FunctionDef(name=name):
                    module.defined[name] = statement
                case ast.ClassDef(name=name):
                    module.defined[name] = statement
                    for each in statement.body:
                        if isinstance(each, ast.FunctionDef):
                            module.defined[f"{name}.{each.name}"] = each
                case (
                    ast.Assign(targets=[ast.Name(id=name)])
                    | ast.AnnAssign(target=ast.Name(id=name))
                ):
                    module.defined[name] = statement
                case ast.ImportFrom():
                    self._import(module, statement, path, is_package=file.stem == "__init__")
        return module

    def _import(
        self, module: _Module, statement: ast.ImportFrom, path: str, *, is_package: bool
    ) -> None:
        """Note what a statement takes from this package."""
        source = statement.module or ""
        if statement.level:
            parents = path.split("/")
            parents = parents[: len(parents) - statement.level + is_package]
            source = "/".join([*parents, *source.split(".")]).strip("/")
        elif source.partition(".")[0] == self._package:
            source = source.partition(".")[2].replace(".", "/")
        else:
            return
        for alias in statement.names:
            name = alias.asname or alias.name
            if source == _OPERATORS and alias.name == "functions":
                module.operators.add(name)
            else:
                module.imported[name] = (source, alias.name)


def _run(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield the nodes that run when a function is called or a value made: no annotations."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns"):
                continue
            if name == "args" and isinstance(value, ast.arguments):
                waiting += [each for each in (*value.defaults, *value.kw_defaults) if each]
                continue
            children = value if isinstance(value, list) else [value]
            waiting += [child for child in reversed(children) if isinstance(child, ast.AST)]
