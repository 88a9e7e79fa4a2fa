"""``dovetail table`` and ``dovetail explain``: the dispatch table of an operator, and which
kernels a call would run.
"""

from __future__ import annotations

from importlib import import_module
from inspect import signature
from typing import Annotated, Any

import typer

from dovetail_dispatcher import _C, Explanation, dispatch_table
from dovetail_kernel import Device, all_backends

from ..inspection.explanation import explain as explained
from .common import (
    AsJson,
    Operator,
    UsageError,
    failures,
    load_backend,
    load_library_of,
    overloads_of,
    words,
)


def table(op: Operator, as_json: AsJson = False) -> None:
    """Print the dispatch table of an operator: which kernel each key has, and by which rule.

    Adjacent keys with the same kernel share a line. For an operator with several overloads, it
    lists their schemas: pass one of them.
    """
    with failures():
        names = overloads_of(op)
        if len(names) > 1:
            raise UsageError(_choice(op, names, f"dovetail table {names[0]}"))
        for backend in all_backends():
            load_backend(backend)
        computed = dispatch_table(names[0])
    if as_json:
        typer.echo(computed.as_json())
    else:
        typer.echo(computed.as_text(), nl=False)


def explain(
    op: Operator,
    args: Annotated[
        str,
        typer.Option(
            help="The arguments, as Python with `dovetail` in scope: 'dovetail.ones(2), alpha=3'."
        ),
    ] = "",
    route: Annotated[
        bool, typer.Option("--route", help="Show the source text of the composed callable, too.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show which kernels a call would run, and why, without running it."""
    with failures():
        load_library_of(op)
        if not args:
            _ask_for_arguments(op)
        scope = {"dovetail": import_module("dovetail"), "__call": lambda *a, **k: (a, k)}
        with words(Exception):
            positional, named = eval(f"__call({args})", scope)
            explanation = explained(op, *positional, **named)
    if as_json:
        typer.echo(explanation.as_json())
    elif isinstance(explanation, Explanation):
        typer.echo(explanation.as_text(route=route))
    else:
        typer.echo(str(explanation))


def _ask_for_arguments(op: str) -> None:
    """Ask for --args if the operator or function requires arguments."""
    if "::" in op:
        names = overloads_of(op)
        if all(_needs_arguments(name) for name in names):
            raise UsageError(_choice(op, names, _example(names)))
        return
    found: Any = import_module("dovetail")
    for part in op.removeprefix("dovetail.").split("."):
        found = getattr(found, part, None)
    try:
        parameters = signature(found).parameters.values()
    except (TypeError, ValueError):  # it says itself what it is
        return
    needed = [
        each
        for each in parameters
        if each.default is each.empty
        and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    if needed:
        text = ", ".join(["dovetail.ones(2, 2)"] * len(needed))
        raise UsageError(
            f"{op} needs arguments. Give them as --args: {op}{signature(found)}\n"
            f'Example: dovetail explain {op} --args "{text}"'
        )


_EXAMPLES = {
    "Tensor": "dovetail.ones({shape})",
    "int": "1",
    "float": "0.5",
    "number": "2",
    "bool": "True",
    "List[int]": "[1, 1]",
    "List[Tensor]": "[dovetail.ones({shape})]",
    "str": "'mean'",
}
"""An argument of a type, by the type's name."""

_SHAPES = ("2, 2", "2", "2, 2, 4, 4", "2, 2, 4")


def _example(names: list[str]) -> str:
    """Return a command with valid arguments of an overload, or of another operator if the usual
    arguments fit none.
    """
    for name in names:
        base, _, overload = name.partition(".")
        op = _C._dispatch_find_schema_or_throw(base, overload)
        needed = [each for each in op._schema.arguments if not each.has_default_value()]
        kinds = [str(each.type) for each in needed if not each.kwarg_only]
        given = ["None" if kind.startswith("Optional") else _EXAMPLES.get(kind) for kind in kinds]
        if None in given or len(given) < len(needed):
            continue
        for shape in _SHAPES:
            text = ", ".join(map(str, given)).format(shape=shape)
            try:
                with Device("meta"):
                    eval(f"__op({text})", {"dovetail": import_module("dovetail"), "__op": op})
            except Exception:  # these do not fit: try the next
                continue
            return f'dovetail explain {name} --args "{text}"'
    return "dovetail explain aten::relu --args 'dovetail.ones(2, 2)'"


def _needs_arguments(name: str) -> bool:
    base, _, overload = name.partition(".")
    schema = _C._dispatch_find_schema_or_throw(base, overload)._schema
    return any(not argument.has_default_value() for argument in schema.arguments)


def _choice(op: str, names: list[str], example: str) -> str:
    """Return sentences that list operators similar to `op`."""
    schemas = []
    for name in names:
        base, _, overload = name.partition(".")
        schemas.append(f"  {_C._dispatch_find_schema_or_throw(base, overload)._schema}")
    what = f"{op} has {len(names)} overloads" if len(names) > 1 else f"{op} needs --args"
    return "\n".join([f"{what}:", *schemas, f"Example: {example}"])
