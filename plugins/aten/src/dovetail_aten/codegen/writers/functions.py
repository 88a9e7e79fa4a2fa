"""Writes ``functions``: one function per overload, and per name the function that users call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dovetail_dispatcher.calls import default_text, parameter

from ...templates.python_function import PythonFunction
from ..overload_sets import OverloadSet, check_names, function_name, overload_sets
from ..readers.native_functions import NativeFunction
from .excluded_operators import LeftOut, write_left_out
from .old_overloads import write_old_overloads
from .python_operators import operator_functions
from .text import HEADER, Lines, bracketed

_DOC = "The functions of the operators: the text behind every call."

_IMPORTS = """
from dovetail_aten.calling.compile_on_first_call import MISSING, complete, complete_choice, default
from dovetail_aten.calling.compiled_entries import compile_entries
from dovetail_aten.calling.old_overloads import OLD_OVERLOADS, OldOverloads
from dovetail_aten.calling.overloads import Overloads
"""


def write_functions(
    functions: Sequence[NativeFunction], *, is_split: bool, without: LeftOut | None = None
) -> dict[str, str]:
    """Return the module of the functions of `functions`, text by path. It is a single one:
    importing one for each family takes several times as long.

    Parameters
    ----------
    functions
        The operators.
    is_split
        Whether the declarations are in families: the module is a package then, since pickles may
        name modules in it.
    without
        What a selective build leaves out: its functions are there, and raise when they are called.
    """
    sets = overload_sets(functions)
    check_names(sets)
    left_out = overload_sets(without.functions) if without is not None else []
    public = [f'"{s.name}"' for s in (*sets, *left_out) if s.is_public]
    names = ["", *bracketed("__all__ = [", public, "]")]
    replacements: list[str] = []
    if without is not None:
        replacements = write_left_out(without, {s.name: function_names(s) for s in left_out})
    lines = Lines()
    lines.add(HEADER, "# mypy: ignore-errors", f'"""{_DOC}"""', _IMPORTS)
    for overloads in sets:
        lines.add(*_functions(overloads))
    lines.add("", "compile_entries(globals())", *replacements, *names)
    return {"functions/__init__.py" if is_split else "functions.py": lines.text()}


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


def _functions(overloads: OverloadSet) -> Iterator[str]:
    """Yield the functions of one name, a line for each, and what these refer to."""
    name = overloads.name
    for out in overloads.outs.values():
        yield from _function(out, function_name(out))
    if overloads.has_choice:
        for function in overloads.overloads:
            yield from _function(function, function_name(function))
        table = f"_{name}_overloads"
        entries = [_entry(function, overloads) for function in overloads.overloads]
        head = f'{table} = Overloads("{overloads.overloads[0].schema.name}", {{'
        yield from bracketed(head, entries, "})")
        call = f"complete_choice({name}, {table})(*args, **kwargs)"
        yield f"def {name}(*args, **kwargs): return {call}"
        for operator in _operators(overloads):
            call = f"complete_choice({operator}, {table})(input, other)"
            yield f"def {operator}(input, other): return {call}"
    else:
        first = overloads.overloads[0]
        yield from _function(
            first,
            name,
            overloads.outs.get(first.name),
            takes_old=overloads.surplus_of_old,
            takes_numpy=overloads.is_called,
        )
        for operator in _operators(overloads):
            text = PythonFunction(first.schema, first.promote, operator, is_operator=True)
            yield text.short_source()
    yield from write_old_overloads(overloads)


def _entry(function: NativeFunction, overloads: OverloadSet) -> str:
    out = overloads.out_of(function)
    runs = function_name(overloads.run_by(function))
    writes = None if out is None else function_name(out)
    return f'"{function.schema.overload_name}": ({runs}, {writes})'


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
) -> list[str]:
    """Return a function as one line, which the first call completes; before it the defaults that
    cannot be written as text.
    """
    schema = function.schema
    outs = [parameter(a) for a in out.schema.arguments if a.is_out] if out is not None else []
    text = PythonFunction(
        schema,
        function.promote,
        name,
        out=function_name(out) if out is not None else None,
        outs=() if outs == ["out"] else outs,
        takes_old=takes_old,
        takes_numpy=takes_numpy,
    )
    defaults = [
        f'{argument.name}_default = default("{schema.name}", "{schema.overload_name}", {position})'
        for position, argument in enumerate(schema.arguments)
        if argument.has_default_value() and default_text(argument) == f"{argument.name}_default"
    ]
    return [*defaults, text.short_source()]
