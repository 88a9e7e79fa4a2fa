"""Shared by the commands: options, tables, errors, and loading the library of an operator."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Column, Table

from dovetail_kernel import plugin_manager

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Operator = Annotated[
    str, typer.Argument(metavar="OP", help="An operator, such as aten::add.Tensor.")
]

WIDTH_OF_FILES = 160
"""Columns of a table that goes to a file or a pipe."""


def print_json(data: Any) -> None:
    """Print `data` as JSON."""
    typer.echo(json.dumps(data, indent=2))


def print_rows(rows: Sequence[dict[str, Any]], fields: Sequence[str]) -> None:
    """Print `rows` as a table with the columns `fields`."""
    table = Table(*[Column(field, overflow="fold") for field in fields], box=SIMPLE_HEAD)
    for row in rows:
        table.add_row(*[str(row[field] or "") for field in fields])
    console = Console()
    (console if console.is_terminal else Console(width=WIDTH_OF_FILES)).print(table)


@contextmanager
def failures() -> Iterator[None]:
    """End with status 1 and the text of an error, which says what to do, instead of a traceback."""
    try:
        yield
    except typer.Exit:
        raise
    except Exception as error:
        typer.echo(f"{type(error).__name__}: {error}", err=True)
        raise typer.Exit(1) from None


def load_library_of(name: str) -> None:
    """Load the installed library that `name`, or a pattern, belongs to."""
    namespace = name.partition("::")[0]
    if namespace in plugin_manager.namespaces():
        plugin_manager.load_library(namespace)
