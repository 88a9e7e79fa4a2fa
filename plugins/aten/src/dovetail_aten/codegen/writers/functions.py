"""Writes ``functions.py``: one function per overload, and per name the function that users call."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dovetail_dispatcher.calls.templates import name_source
from dovetail_dispatcher.calls.templates.arguments import default_text, parameter
from dovetail_dispatcher.schema import Argument

from ..native_functions import NativeFunction
from ..overload_sets import OverloadSet, overload_sets, python_schema, variadic_argument
from .text import HEADER, INDENT, Lines

_IMPORTS = """
from typing import Any

from dovetail_dispatcher.table import registry
from dovetail_dispatcher.calls.entry_support import (
    MISSING, SCALAR_BITS, DType, are_ints, miss, state,
)
from dovetail_dispatcher.schema import default_of
from dovetail_kernel import TensorBase
"""

_CHOICE_IMPORTS = """
from dovetail_aten.calling import return_types
from dovetail_aten.calling.overloads import NUMBERS, Overload, choose
from dovetail_aten.calling.return_types import named
"""

_OPERATOR = '''
def _operator(name: str, overload: str) -> Any:
    """Return the operator whose entry is below; the library's registrations come first."""
    return registry.find_or_throw(name, overload)
'''

_FALSE_FOR_NONE = {"eq": "False", "ne": "True"}


def write_functions(functions: Sequence[NativeFunction]) -> str:
    """Return the text of the functions of `functions`."""
    sets = overload_sets(functions)
    lines = Lines()
    lines.add(
        HEADER,
        "# mypy: ignore-errors",
        '"""The functions of the operators: the text behind every call."""',
        "",
    )
    lines.add(
        "from __future__ import annotations",
        _IMPORTS.rstrip("\n"),
        _CHOICE_IMPORTS.strip("\n"),
        "",
        _OPERATOR,
    )
    for overloads in sets:
        for function in [*overloads.overloads, *overloads.outs.values()]:
            lines.add(*_bindings(function))
            if kind := result_type(function):
                lines.add(f"{function.identifier}_named = named(return_types.{kind})")
    for overloads in sets:
        lines.add("", "", *_set(overloads))
    lines.add("", "", *public_names(sets))
    for title, names, meaning in (
        (
            "METHODS",
            [s.name for s in sets if s.is_method],
            "Names that are methods of tensors as well.",
        ),
        (
            "NN",
            [s.name for s in sets if s.module == "nn"],
            "Names that are functions of `dovetail._nn`.",
        ),
    ):
        lines.add(
            "",
            "",
            f"{title} = (",
            *[f"{INDENT}{name!r}," for name in names],
            ")",
            f'"""{meaning}"""',
        )
    return lines.text()


_INTERNAL = re.compile(r"_.*|.*_backward|.*_forward|alias|matrix_H|numpy_T|slice")
"""Names that formulas and methods need; at the top level they would be noise, or hide a builtin."""


def public_names(sets: Sequence[OverloadSet]) -> list[str]:
    """Return the lines of ``__all__``: the functions at the top level of the front end."""
    names = [s.name for s in sets if s.module == "" and not _INTERNAL.fullmatch(s.name)]
    return ["__all__ = [", *[f'{INDENT}"{name}",' for name in names], "]"]


def _bindings(function: NativeFunction) -> list[str]:
    own = function.identifier
    schema = function.schema
    lines = [
        f'{own}_op = _operator("{schema.name}", "{schema.overload_name}")',
        f"{own}_routes = {own}_op.routes",
    ]
    for argument in schema.arguments:
        if argument.has_default_value() and default_text(argument) == f"{argument.name}_default":
            lines.append(
                f"{argument.name}_default = "
                f"default_of({own}_op.schema.arguments[{_index(function, argument)}])"
            )
    return lines


def _index(function: NativeFunction, argument: Argument) -> int:
    return function.schema.arguments.index(argument)


def _set(overloads: OverloadSet) -> list[str]:
    """Return the functions of one name."""
    lines: list[str] = []
    public = overloads.name
    for out in overloads.outs.values():
        lines += [*_function(out, function_name(out), public), "", ""]
    first = overloads.overloads[0]
    if len(overloads.overloads) == 1 or overloads.takes_numbers:
        lines += _function(first, public, public, overloads.outs.get(first.name))
        if overloads.name in _FALSE_FOR_NONE:
            answer = _FALSE_FOR_NONE[overloads.name]
            guard = f"{INDENT}if other is None:\n{INDENT * 2}return {answer}"
            operator = _function(first, f"{public}_operator", f"{public}_operator")
            lines += ["", "", operator[0], guard, *operator[1:]]
        return lines
    for function in overloads.overloads:
        lines += [*_function(function, function_name(function), public), "", ""]
    return [*lines, *_choice(overloads)]


def function_name(function: NativeFunction) -> str:
    """Return the name of the function of one overload among several: ``sum_dim_IntList``,
    ``sum_default``.
    """
    return (
        function.identifier if function.schema.overload_name else f"{function.identifier}_default"
    )


def _function(
    function: NativeFunction, name: str, public: str, out: NativeFunction | None = None
) -> list[str]:
    schema = python_schema(function.schema)
    single = out is not None and len(out.schema.returns) == 1
    renamed = schema is not function.schema
    promote = [
        "input" if renamed and argument == "self" else argument for argument in function.promote
    ]
    out_name = function_name(out) if out is not None and single else None
    named = f"{function.identifier}_named" if result_type(function) else ""
    text = name_source(schema, name, promote, out=out_name, public=public, named=named)
    variadic = variadic_argument(schema)
    if variadic is not None:
        text = _with_varargs(text, parameter(variadic))
    return text.rstrip("\n").split("\n")


def result_type(function: NativeFunction) -> str:
    """Return the name in `dovetail_aten.calling.return_types` of what a function returns; empty for
    a plain result.
    """
    schema = function.schema
    if [item.name for item in schema.returns] != ["values", "indices"]:
        return ""
    return function.base_name + (
        "_out" if any([argument.is_out for argument in schema.arguments]) else ""
    )


def _with_varargs(text: str, name: str) -> str:
    """Let the list `name` be given as separate ints too."""
    head, _, body = text.partition("\n")
    head = head.replace(", *,", ",", 1) if ", *," in head else head
    head = re.sub(rf"\b{name}\b", f"*{name}s_, {name}=None", head, count=1)
    spread = f"{name}s_[0] if len({name}s_) == 1 and {name}s_[0].__class__ is not int else {name}s_"
    return f"{head}\n{INDENT}if {name} is None:\n{INDENT * 2}{name} = {spread}\n{body}"


# -- choice among overloads ------------------------------------------------------------------------


def _choice(overloads: OverloadSet) -> list[str]:
    """Return the function that tells overloads apart: by number and classes of arguments, else by
    `choose`.
    """
    name = overloads.name
    table = [f"_{name}_overloads = ("]
    for function in overloads.overloads:
        table.append(f"{INDENT}{_overload(function, overloads)},")
    table.append(")")
    lines = [*table, "", "", f"def {name}(*args, **kwargs):"]
    tests = _tests(overloads)
    if tests:
        lines += [f"{INDENT}if not kwargs:", f"{INDENT * 2}count = len(args)"]
        for test in tests:
            lines.append(f"{INDENT * 2}{test}")
    return [*lines, f'{INDENT}return choose("{name}", _{name}_overloads, args, kwargs)']


def _overload(function: NativeFunction, overloads: OverloadSet) -> str:
    out = overloads.outs.get(function.name)
    schema = python_schema(function.schema)
    arguments = schema.arguments
    names = tuple([parameter(a) for a in arguments])
    kinds = tuple([a.real_type.schema_str for a in arguments])
    positional = sum([not a.kwarg_only for a in arguments])
    required = tuple([parameter(a) for a in arguments if not a.has_default_value()])
    fields = [
        function_name(overloads.run_by(function)),
        repr(signature_text(function)),
        repr(names),
        repr(kinds),
        str(positional),
    ]
    fields += [repr(required), *([function_name(out)] if out is not None else [])]
    return f"Overload({', '.join(fields)})"


def signature_text(function: NativeFunction) -> str:
    """Return the parameters of a function as messages show them."""
    text = str(python_schema(function.schema))
    return text[text.index("(") : text.rindex(" ->")]


def _tests(overload_set: OverloadSet) -> list[str]:
    overloads = overload_set.overloads
    most = max([len(_positional(f)) for f in overloads])
    lines = []
    for function in overloads:
        if variadic_argument(python_schema(function.schema)) is not None:
            ints = 2 if any([_takes_one_int(other) for other in overloads]) else 1
            lines.append(f"if count > {ints} and args[1].__class__ is int:")
            lines.append(f"{INDENT}return {function_name(function)}(*args)")
    for count in range(most + 1):
        fitting = [f for f in overloads if _accepts(f, count)]
        arguments = [_positional(f) for f in fitting]
        differing = [
            i for i in range(count) if len({a[i].real_type.schema_str for a in arguments}) > 1
        ]
        branches = []
        for function, own in zip(fitting, arguments, strict=True):
            tests = [_class_test(f"args[{i}]", own[i].real_type.schema_str) for i in differing]
            if None in tests:
                continue
            condition = " and ".join([test for test in tests if test])
            call = f"return {function_name(overload_set.run_by(function))}(*args)"
            branches.append(
                f"{INDENT}if {condition}:\n{INDENT * 4}{call}" if condition else f"{INDENT}{call}"
            )
            if not condition:
                break
        if branches:
            lines += [f"if count == {count}:", *branches]
    return lines


def _takes_one_int(function: NativeFunction) -> bool:
    """Return whether a call with one int behind ``self`` is the overload's: ``squeeze.dim``, not
    ``squeeze.dims``.
    """
    return [a.real_type.schema_str for a in _positional(function)[1:]] in (["int"], ["SymInt"])


def _positional(function: NativeFunction) -> list[Argument]:
    return [a for a in function.schema.arguments if not a.kwarg_only]


def _accepts(function: NativeFunction, count: int) -> bool:
    arguments = function.schema.arguments
    required = [a for a in arguments if not a.has_default_value()]
    positional = _positional(function)
    if any([a.kwarg_only and a.real_type.schema_str != "str?" for a in required]) or any(
        [a.kwarg_only for a in required]
    ):
        return False
    return len([a for a in required if not a.kwarg_only]) <= count <= len(positional)


def _class_test(value: str, kind: str) -> str | None:
    optional = kind.endswith("?")
    match kind.removesuffix("?"):
        case "Tensor":
            test = f"isinstance({value}, TensorBase)"
        case "Scalar":
            test = f"{value}.__class__ in NUMBERS"
        case "int" | "SymInt":
            test = f"{value}.__class__ is int"
        case "bool":
            test = f"{value}.__class__ is bool"
        case "float":
            test = f"{value}.__class__ is float"
        case "ScalarType":
            test = f"{value}.__class__ is DType"
        case "int[]" | "SymInt[]":
            test = f"isinstance({value}, (tuple, list))"
        case _:
            return None
    return f"({value} is None or {test})" if optional else test
