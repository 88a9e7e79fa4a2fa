"""``dovetail table`` and ``dovetail explain``: the dispatch table of an operator, and which
kernels a call would run.
"""

from __future__ import annotations

from importlib import import_module
from typing import Annotated

import typer

from dovetail_dispatcher import dispatch_table

from ..inspection.explanation import explain as explained
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
        explanation = explained(op, *positional, **named)
    typer.echo(explanation.as_json() if as_json else str(explanation))
