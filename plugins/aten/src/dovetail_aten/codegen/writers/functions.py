"""Writes ``functions``: one function per overload, and per name the function that users call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dovetail_dispatcher.calls.templates.arguments import default_text, parameter

from ...templates.python_function import PythonFunction, result_type
from ..families import by_family
from ..overload_sets import OverloadSet, check_names, function_name, overload_sets
from ..readers.native_functions import NativeFunction
from .choices import choice, operator_choice
from .excluded_operators import LeftOut, write_left_out
from .old_overloads import write_old_overloads
from .python_operators import operator_functions
from .text import HEADER, Lines, bracketed

_DOC = "The functions of the operators: the text behind every call."

_IMPORTS = """
from __future__ import annotations

from dovetail_dispatcher.calls.entry_support import (
    MISSING, SCALAR_BITS, DType, are_ints, miss, state,
)
from dovetail_dispatcher.schema import default_of
from dovetail_kernel import Device, Layout, MemoryFormat, TensorBase
from dovetail_aten.calling.compiled_entries import compile_entries
from dovetail_aten.calling.compile_on_first_call import complete, operator
from dovetail_aten.calling.numpy_calls import numpy_call
from dovetail_aten.calling.old_overloads import OLD_OVERLOADS, OldOverloads, old_overload
from dovetail_aten.calling.operands import operate
from dovetail_aten.calling.overloads import NUMBERS, Overloads
from dovetail_aten.calling.return_types import named
from dovetail_aten.calling.several_outs import several_outs
"""


def write_functions(
    functions: Sequence[NativeFunction],
    *,
    is_split: bool,
    without: LeftOut | None = None,
) -> dict[str, str]:
    """Return the modules of the functions of `functions`, text by path.

    Parameters
    ----------
    functions
        The operators.
    is_split
        Whether there is a module for each family.
    without
        What a selective build leaves out: its functions are there, and raise when they are called.
    """
    sets = overload_sets(functions)
    check_names(sets)
    left_out = overload_sets(without.functions) if without is not None else []
    public = [f'"{s.name}"' for s in (*sets, *left_out) if s.is_public]
    names = bracketed("__all__ = [", public, "]")
    replacements: list[str] = []
    if without is not None:
        replacements = write_left_out(without, {s.name: function_names(s) for s in left_out})
    if not is_split:
        return {"functions.py": _module(_DOC, sets, [*names, *replacements])}
    package = Lines()
    package.add(HEADER, "# mypy: ignore-errors", f'"""{_DOC}"""', "")
    families = by_family(sets, lambda overloads: overloads.overloads[0].where)
    package.add(*[f"from .{family} import *" for family in families], *replacements, "", *names)
    modules = {
        f"functions/{family}.py": _module(f"Functions of the family {family}.", own, _names(own))
        for family, own in families.items()
    }
    return {"functions/__init__.py": package.text(), **modules}


def _module(doc: str, sets: Sequence[OverloadSet], names: Sequence[str]) -> str:
    lines = Lines()
    lines.add(HEADER, "# mypy: ignore-errors", f'"""{doc}"""', _IMPORTS, "", *names)
    before: list[str] = []
    for overloads in sets:
        blocks = list(_blocks(overloads))
        if any([len(block) > 1 for block in blocks]):
            lines.add("", "")
            before = []
        for block in blocks:
            lines.add(*([""] if len(before) > 1 or (before and len(block) > 1) else []), *block)
            before = block
    lines.add("", "", "compile_entries(globals())")
    return lines.text()


def function_names(overloads: OverloadSet) -> list[str]:
    """Return the names of all functions of one name: of its overloads, itself, its operators."""
    names = [function_name(out) for out in overloads.outs.values()]
    if overloads.has_choice:
        names += [function_name(function) for function in overloads.overloads]
    return [*names, overloads.name, *_operators(overloads)]


def called_functions(sets: Sequence[OverloadSet]) -> dict[str, str]:
    """Return the name of the function of every overload, by the overload's name."""
    return {
        function.name: function_name(function) if overloads.has_choice else overloads.name
        for overloads in sets
        for function in overloads.overloads
    }


def _names(sets: Sequence[OverloadSet]) -> list[str]:
    """Return the lines of ``__all__`` of a family: every function, whether public or not."""
    names = [name for overloads in sets for name in function_names(overloads)]
    return bracketed("__all__ = [", [f'"{name}"' for name in names], "]")


def _blocks(overloads: OverloadSet) -> Iterator[list[str]]:
    """Yield the functions of one name, each as its lines."""
    rare = _is_rare(overloads)
    for out in overloads.outs.values():
        yield _function(out, function_name(out))
    if overloads.has_choice:
        for function in overloads.overloads:
            yield _function(function, function_name(function), rare=rare)
        yield [*choice(overloads), *write_old_overloads(overloads)]
        for name in _operators(overloads):
            yield operator_choice(overloads, name)
        return
    first = overloads.overloads[0]
    own = _function(
        first,
        overloads.name,
        overloads.outs.get(first.name),
        takes_old=overloads.surplus_of_old,
        takes_numpy=overloads.is_called,
        rare=rare,
    )
    yield [*own, *write_old_overloads(overloads)]
    for name in _operators(overloads):
        text = PythonFunction(first.schema, first.promote, name, is_operator=True)
        yield [text.short_source()] if _is_short(first) else text.source().splitlines()


def _operators(overloads: OverloadSet) -> list[str]:
    """Return the names of Python's binary operators that run the functions of one name."""
    is_base = overloads.overloads[0].schema.name.startswith("aten::")
    return operator_functions(overloads.name) if is_base else []


def _function(
    function: NativeFunction,
    name: str,
    out: NativeFunction | None = None,
    *,
    takes_old: int = 0,
    takes_numpy: bool = False,
    rare: bool = False,
) -> list[str]:
    """Return a function and what it is bound to; one line for what the first call completes."""
    outs = [parameter(a) for a in out.schema.arguments if a.is_out] if out is not None else []
    text = PythonFunction(
        function.schema,
        function.promote,
        name,
        out=function_name(out) if out is not None else None,
        outs=() if outs == ["out"] else outs,
        takes_old=takes_old,
        takes_numpy=takes_numpy,
    )
    if rare or _is_short(function):
        return [*_defaults(function), text.short_source()]
    return [*_bindings(function), *text.source().splitlines()]


def _is_short(function: NativeFunction) -> bool:
    return function.schema_kind in ("inplace", "out")


def _is_rare(overloads: OverloadSet) -> bool:
    """Return whether few programs call the functions of a name: those of modules beside the top
    level, and those that only other operators run.
    """
    return not (overloads.is_public or overloads.is_method or overloads.module == "nn")


def _bindings(function: NativeFunction) -> list[str]:
    own, schema = function.identifier, function.schema
    lines = [f'{own}_op, {own}_routes = operator("{schema.name}", "{schema.overload_name}")']
    if kind := result_type(schema):
        names = ", ".join([f'"{item.name}"' for item in schema.returns])
        lines.append(f'{own}_named = named("{kind}", ({names}))')
    return [*lines, *_defaults(function)]


def _defaults(function: NativeFunction) -> list[str]:
    """Return what binds the defaults that cannot be written as text."""
    schema = function.schema
    found = f'operator("{schema.name}", "{schema.overload_name}")[0].schema.arguments'
    return [
        f"{argument.name}_default = default_of({found}[{position}])"
        for position, argument in enumerate(schema.arguments)
        if argument.has_default_value() and default_text(argument) == f"{argument.name}_default"
    ]
