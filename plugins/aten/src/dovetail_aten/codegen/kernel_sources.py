"""Reads in the sources of a library which family of array kernels has which operators, without
importing any.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from .errors import DeclarationError, Location

_FOLDER: Final = "families"
_MARKS: Final = ("operator", "helper")
_OF_THE_NAMESPACE: Final = ("functions", "functions_with_out")
_OTHERS: Final = ("functions_of_numbers", "scipy_functions")


@dataclass
class KernelFamily:
    """What a family of array kernels defines.

    Attributes
    ----------
    place
        Module and class in the folder of families, ``reductions.kernels.scans.Scans``.
    operators
        The operators that it has kernels of.
    functions
        Of these, what are functions of the array namespace and nothing else, with the name there.
    helpers
        The names that derivative bodies call.
    """

    place: str
    operators: list[str] = field(default_factory=list)
    functions: dict[str, str] = field(default_factory=dict)
    helpers: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Family and class, ``reductions.Scans``."""
        return f"{self.place.partition('.')[0]}.{self.place.rpartition('.')[2]}"


def kernel_families(package: Path) -> list[KernelFamily]:
    """Return the families in ``families/<family>/kernels`` of a package: the classes whose methods
    are marked as kernels or helpers, or that name functions of the namespace. Raises
    DeclarationError for functions that are not literals.
    """
    sources = _Classes(package)
    return [sources.family(module, name) for module, name in sources.found()]


class _Classes:
    """The classes in the modules of a package, read when they are asked for."""

    def __init__(self, package: Path) -> None:
        self._package = package
        self._trees: dict[str, ast.Module] = {}

    def found(self) -> Iterator[tuple[str, str]]:
        """Yield module and name of each class that defines kernels or helpers."""
        folder = self._package / _FOLDER
        for path in sorted([*folder.glob("*/kernels.py"), *folder.glob("*/kernels/*.py")]):
            module = ".".join(path.relative_to(self._package).with_suffix("").parts)
            for node in self._tree(module).body:
                if isinstance(node, ast.ClassDef) and any(map(_defines, node.body)):
                    yield module, node.name

    def family(self, module: str, cls: str) -> KernelFamily:
        """Return what a class and those that it is derived from define."""
        found = KernelFamily(f"{module.removeprefix(f'{_FOLDER}.')}.{cls}")
        functions: dict[str, dict[str, str]] = {}
        for where, node in reversed(list(self._with_bases(module, cls))):
            for statement in node.body:
                if isinstance(statement, ast.FunctionDef):
                    self._add_marked(found, statement)
                elif (mapping := self._functions(where, statement)) is not None:
                    functions.update([mapping])
        for kind in _OF_THE_NAMESPACE:
            found.functions |= functions.get(kind, {})
        found.operators += found.functions
        for kind in _OTHERS:
            found.operators += functions.get(kind, ())
        found.operators = sorted(set(found.operators))
        found.helpers = sorted(set(found.helpers))
        return found

    def _with_bases(self, module: str, name: str) -> Iterator[tuple[str, ast.ClassDef]]:
        """Yield a class and, of this package, those that it is derived from."""
        for node in self._tree(module).body:
            if isinstance(node, ast.ClassDef) and node.name == name:
                yield module, node
                imported = dict(self._imports(module))
                for base in node.bases:
                    if isinstance(base, ast.Name) and base.id != "Family":
                        yield from self._with_bases(imported.get(base.id, module), base.id)
                return
        raise DeclarationError(
            Location(_path(module), 1),
            f"there is no class {name}.",
            "Import the base classes of a family by relative imports.",
        )

    def _tree(self, module: str) -> ast.Module:
        if module not in self._trees:
            path = self._package / _path(module)
            text = path.read_text(encoding="utf-8") if path.exists() else ""
            self._trees[module] = ast.parse(text)
        return self._trees[module]

    def _imports(self, module: str) -> Iterator[tuple[str, str]]:
        for node in self._tree(module).body:
            if isinstance(node, ast.ImportFrom) and node.level and node.module:
                package = module.split(".")[: -node.level]
                for alias in node.names:
                    yield alias.asname or alias.name, ".".join([*package, node.module])

    @staticmethod
    def _add_marked(found: KernelFamily, method: ast.FunctionDef) -> None:
        for decorator in method.decorator_list:
            match decorator:
                case ast.Call(func=ast.Name(id="operator"), args=names, keywords=overloads):
                    marked = [ast.literal_eval(name) for name in names]
                    found.operators += marked
                    for each in [each for given in overloads for each in _literal(given)]:
                        found.operators += [f"{name}.{each}" for name in marked]
                case ast.Call(func=ast.Name(id="helper"), args=names):
                    found.helpers += map(ast.literal_eval, names)

    @staticmethod
    def _functions(module: str, node: ast.stmt) -> tuple[str, dict[str, str]] | None:
        """Return the mapping of operators to functions that a statement of a class is, by name."""
        match node:
            case (
                ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
                | ast.Assign(targets=[ast.Name(id=name)], value=value)
            ) if name in (*_OF_THE_NAMESPACE, *_OTHERS):
                try:
                    return name, dict(ast.literal_eval(value))
                except ValueError:
                    raise DeclarationError(
                        Location(_path(module), node.lineno),
                        f"{name} is no literal.",
                        "Write the operators out: the generator reads them.",
                    ) from None
        return None


def _defines(statement: ast.stmt) -> bool:
    """Return whether a statement of a class marks a method, or names functions of kernels."""
    match statement:
        case ast.FunctionDef(decorator_list=marks):
            calls = [each.func for each in marks if isinstance(each, ast.Call)]
            return any([isinstance(each, ast.Name) and each.id in _MARKS for each in calls])
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
            return name in (*_OF_THE_NAMESPACE, *_OTHERS)
    return False


def _literal(keyword: ast.keyword) -> tuple[str, ...]:
    value: tuple[str, ...] = ast.literal_eval(keyword.value)
    return value


def _path(module: str) -> str:
    return f"{module.replace('.', '/')}.py"
