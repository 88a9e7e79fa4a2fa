"""``dovetail table`` and ``dovetail explain``: the dispatch table of an operator, and which
kernels a call would run.
"""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer

import dovetail_dispatcher
from dovetail_dispatcher import dispatch_table, ops

from .common import AsJson, Operator, failures, load_library_of


def table(op: Operator, as_json: AsJson = False) -> None:
    """Print the dispatch table of an operator: which kernel each key has, and by which rule."""
    with failures():
        load_library_of(op)
        computed = dispatch_table(op)
    if as_json:
        typer.echo(computed.as_json())
    else:
        typer.echo(str(computed), nl=False)


def explain(
    op: Operator,
    args: Annotated[
        str,
        typer.Option(
            help="The arguments, as Python with `dovetail` in scope: 'dovetail.ones(2), alpha=3'."
        ),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Say which kernels a call would run, and why, without running it."""
    with failures():
        load_library_of(op)
        scope = {"dovetail": import_module("dovetail"), "__call": lambda *a, **k: (a, k)}
        positional, named = eval(f"__call({args})", scope)
        called = op if "." in op else packet(op)
        explanation = dovetail_dispatcher.explain(called, *positional, **named)
    typer.echo(explanation.as_json() if as_json else str(explanation))


def packet(name: str) -> Any:
    """Return all overloads of an operator: the arguments choose among them."""
    namespace, _, base = name.partition("::")
    return getattr(getattr(ops, namespace), base)
