"""Reads ``deprecated.yaml``: deprecated overloads, which are calls of a declared operator with the
arguments in another order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from dovetail_dispatcher.schema import Argument, FunctionSchema

from ...templates.python_function import python_schema
from ..errors import DeclarationError
from .entries import Entry, read_entries
from .native_functions import NativeFunction, read_schema


def with_deprecated(
    functions: Sequence[NativeFunction], paths: Iterable[Path]
) -> list[NativeFunction]:
    """Return `functions`, each with the deprecated overloads that `paths` declare of it.

    They are declared of a functional operator; its in-place and out variants take them too. Raises
    DeclarationError with the line and the remedy: for unknown keys, a schema that does not parse,
    an operator or an argument that there is not, and a call that the operator itself takes.
    """
    plain = {f.base_name: f for f in reversed(functions) if f.schema_kind == "functional"}
    old: dict[str, list[FunctionSchema]] = {}
    for entry in read_entries(paths, DeclarationError):
        function, schema = _read(entry, plain)
        known = old.setdefault(function.name, [])
        if schema in known:
            raise DeclarationError(entry.where, f"{schema} is declared twice.", "Remove one.")
        known.append(schema)
    return [
        replace(function, old=tuple(old[owner])) if (owner := _owner(function)) in old else function
        for function in functions
    ]


def _owner(function: NativeFunction) -> str:
    """Return the name of the functional operator whose deprecated overloads a function takes."""
    return function.derived_from or function.name


def shown_parameters(schema: FunctionSchema, *, takes_out: bool) -> str:
    """Return the parameters of a function as PyTorch's messages show them:
    ``(Tensor input, *, Number alpha = 1, Tensor out = None)``.
    """
    schema = python_schema(schema)
    positional = [_shown(a) for a in schema.arguments if not a.kwarg_only]
    keyword = [_shown(a) for a in schema.arguments if a.kwarg_only]
    if takes_out:
        keyword.append("Tensor out = None")
    return f"({', '.join([*positional, *(['*', *keyword] if keyword else [])])})"


def _shown(argument: Argument) -> str:
    kind = argument.real_type.schema_str.replace("Scalar", "Number")
    default = f" = {str(argument).partition('=')[2]}" if argument.has_default_value() else ""
    return f"{kind} {argument.name}{default}"


def _read(
    entry: Entry, plain: Mapping[str, NativeFunction]
) -> tuple[NativeFunction, FunctionSchema]:
    if unknown := [key for key in entry.values if key != "func"]:
        raise DeclarationError(
            entry.lines[unknown[0]],
            f"leftover entries: {', '.join(unknown)} are no keys of a deprecated overload.",
            "Its only key is func.",
        )
    if "func" not in entry.values:
        raise DeclarationError(
            entry.where, "the entry has no 'func'.", "Write the schema of the deprecated overload."
        )
    schema, _ = read_schema(entry)
    where = entry.lines["func"]
    function = plain.get(schema.name.partition("::")[2])
    if function is None:
        raise DeclarationError(
            where,
            f"there is no operator '{schema.name}'.",
            "Declare it in native_functions.yaml, or remove this overload of it.",
        )
    own = {a.name: a.real_type.schema_str for a in function.schema.arguments}
    for argument in schema.arguments:
        if own.get(argument.name) != argument.real_type.schema_str:
            raise DeclarationError(
                where,
                f"'{argument}' is no argument of {function.schema}.",
                "Give every argument the name and the type that it has there.",
            )
        if argument.kwarg_only or argument.has_default_value():
            raise DeclarationError(
                where,
                f"'{argument}' is not positional, or has a default.",
                "Write the arguments of the call of old alone.",
            )
    if len(schema.arguments) <= sum([not a.kwarg_only for a in function.schema.arguments]):
        raise DeclarationError(
            where,
            f"{function.schema} takes as many positional arguments: the calls look alike.",
            "Remove this overload.",
        )
    return function, schema
