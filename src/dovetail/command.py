"""The ``dovetail`` command: what is installed, what is registered, and which kernel a call runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Column, Table

import dovetail
from dovetail import _C
from dovetail_dispatcher import dispatch_table
from dovetail_kernel import plugin_manager

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Dovetail: which kernel runs, and why.")
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
WIDTH_OF_FILES = 160
"""Columns of a table that goes to a file or a pipe."""
Operator = Annotated[str, typer.Argument(metavar="OP", help="An operator, such as aten::add.Tensor.")]


def main() -> None:
    """Run the command line."""
    app()


@app.command()
def plugins(as_json: AsJson = False) -> None:
    """List the installed plugins and their states."""
    fields = ("distribution", "version", "group", "name", "state", "kernels")
    rows = [{field: getattr(record, field) for field in fields} for record in plugin_manager.list_plugins()]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    table = Table(*[Column(field, overflow="fold") for field in fields], box=SIMPLE_HEAD)
    for row in rows:
        table.add_row(*[str(value or "") for value in row.values()])
    console = Console()
    (console if console.is_terminal else Console(width=WIDTH_OF_FILES)).print(table)


@app.command()
def ops(
    pattern: Annotated[
        str, typer.Argument(help="Which: 'aten::add*'. Without one, all of the loaded libraries.")
    ] = "*",
    as_json: AsJson = False,
) -> None:
    """List the schemas of operators by name."""
    with failures():
        load_library_of(pattern)
        names = sorted(name for name in _C._dispatch_get_all_op_names() if fnmatchcase(name, pattern))
    schemas = {name: schema_of(name) for name in names}
    typer.echo(json.dumps(schemas, indent=2) if as_json else "\n".join(schemas.values()))


@app.command()
def table(op: Operator, as_json: AsJson = False) -> None:
    """Print the dispatch table of an operator: which kernel each key has, and by which rule."""
    with failures():
        load_library_of(op)
        computed = dispatch_table(op)
    if as_json:
        typer.echo(computed.as_json())
    else:
        typer.echo(str(computed), nl=False)


@app.command()
def explain(
    op: Operator,
    args: Annotated[
        str, typer.Option(help="The arguments, as Python with `dovetail` in scope: 'dovetail.ones(2), alpha=3'.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Say which kernels a call would run, and why, without running it."""
    with failures():
        load_library_of(op)
        positional, named = eval(f"__call({args})", {"dovetail": dovetail, "__call": lambda *a, **k: (a, k)})
        explanation = dovetail.explain(op if "." in op else packet(op), *positional, **named)
    typer.echo(explanation.as_json() if as_json else str(explanation))


def packet(name: str) -> Any:
    """Return all overloads of an operator: the arguments choose among them."""
    namespace, _, base = name.partition("::")
    return getattr(getattr(dovetail.ops, namespace), base)


@contextmanager
def failures() -> Iterator[None]:
    """End with status 1 and the text of an error, which says what to do, instead of a traceback."""
    try:
        yield
    except Exception as error:
        typer.echo(f"{type(error).__name__}: {error}", err=True)
        raise typer.Exit(1) from None


def load_library_of(name: str) -> None:
    """Load the installed library that `name`, or a pattern, belongs to."""
    namespace = name.partition("::")[0]
    if namespace in plugin_manager.namespaces():
        plugin_manager.load_library(namespace)


def schema_of(name: str) -> str:
    """Return the schema of an operator, or what is missing."""
    base, _, overload = name.partition(".")
    try:
        return str(_C._dispatch_find_schema_or_throw(base, overload)._schema)
    except RuntimeError:
        return f"{name}: kernels, but no definition"
