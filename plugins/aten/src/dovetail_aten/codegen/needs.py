"""What each operator needs besides itself, read in declarations and sources."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from .closure import Need, groups_of
from .overload_sets import overload_sets
from .readers.derivative_records import Derivative
from .readers.native_functions import NativeFunction
from .source_calls import SourceCalls
from .writers.functions import function_names
from .writers.view_copies import shown_by

_ENGINE: Final = ("graph", "recording", "engine")
"""Rooms of ``dovetail_autograd`` that call operators when a graph is recorded or run backward."""

_ROOM: Final = "tensor"
"""Folder of the public functions and methods that are written by hand."""


def needs(
    folder: Path,
    package: str,
    functions: Sequence[NativeFunction],
    *,
    composites: Mapping[str, str],
    derivatives: Sequence[Derivative],
    helpers: Mapping[str, str],
) -> dict[str, list[Need]]:
    """Return what each group of operators needs at once.

    Parameters
    ----------
    folder, package
        The package, in whose sources is read what functions call.
    functions
        All declared operators.
    composites, helpers
        The module of every composite function, and of every helper of formulas.
    derivatives
        The formulas; none for a build without autograd.
    """
    groups = groups_of(functions)
    operators = {
        name: groups[overloads.name]
        for overloads in overload_sets(functions)
        for name in function_names(overloads)
    }
    sources = SourceCalls(folder, package)
    found: dict[str, list[Need]] = {}

    def add(group: str, called: Iterable[str], through: str) -> None:
        for name in called:
            target = operators.get(name)
            if target is not None and target != group:
                found.setdefault(group, []).append(Need(target, group, through))

    for function in functions:
        group = groups[function.base_name]
        if function.composite is not None and (module := composites.get(function.composite[1])):
            name = function.composite[1]
            add(group, sources.called_by(module, name), f"composite {_shown(module, name)}")
        if function.copy_of is not None:
            view = shown_by(function).partition(".")[0]
            add(group, [view, "clone"], f"kernel, a copy of what {view} shows,")
    for derivative in derivatives:
        group = groups[derivative.function.base_name]
        for called, through in _called_by_formulas(derivative, sources, helpers):
            add(group, called, through)
    for path in sorted((folder / _ROOM).rglob("*.py")):
        place = path.relative_to(folder)
        module = ".".join([package, *place.with_suffix("").parts])
        for name in sources.methods(module):
            if (group := groups.get(name.rpartition(".")[2], "")) and not _is_dunder(name):
                add(group, sources.called_by(module, name), f"function {_shown(module, name)}")
        add("", sources.bound_on_import(module, "Factory"), f"import of {place.as_posix()}")
    if derivatives:
        for file, called in _called_by_engine():
            add("", called, f"autograd ({file})")
    return found


def _called_by_formulas(
    derivative: Derivative, sources: SourceCalls, helpers: Mapping[str, str]
) -> Iterator[tuple[Iterable[str], str]]:
    """Yield what the formulas of an operator call, and where they stand."""
    rewritten = [formula.rewritten for formula in derivative.formulas]
    rewritten += [f.rewritten for f in derivative.forward if f.rewritten is not None]
    for each in rewritten:
        yield sorted(each.operators), f"derivative {derivative.where}"
        for helper in sorted(each.helpers):
            yield (
                sources.called_by(helpers[helper], helper),
                f"derivative {_shown(helpers[helper], helper)}",
            )


def _called_by_engine() -> Iterator[tuple[str, list[str]]]:
    """Yield the modules of the engine, if it is installed, with the operators that they look up by
    name.
    """
    spec = find_spec("dovetail_autograd")
    for place in spec.submodule_search_locations or () if spec is not None else ():
        for room in _ENGINE:
            for path in sorted((Path(place) / room).rglob("*.py")):
                yield path.relative_to(place).as_posix(), list(_looked_up(path))


def _looked_up(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Call(
                func=ast.Name(id="operator") | ast.Attribute(attr="operator"),
                args=[ast.Constant(value=str(name)), ast.Constant()],
            ):
                yield name


def _shown(module: str, name: str) -> str:
    _, _, path = module.partition(".")
    return f"{path.replace('.', '/')}.py:{name}"


def _is_dunder(name: str) -> bool:
    return name.rpartition(".")[2].startswith("__")
