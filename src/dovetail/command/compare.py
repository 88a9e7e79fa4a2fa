"""``dovetail compare``: the first call at which two saved traces differ."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..inspection.runs.comparison import compare_runs
from .common import failures, words

Trace = Annotated[
    Path,
    typer.Argument(
        help="A trace from tracing(hashes=True).export_json.", exists=True, dir_okay=False
    ),
]


def compare(
    first: Trace,
    second: Trace,
    rtol: Annotated[float | None, typer.Option(min=0, help="Greatest relative difference.")] = None,
    atol: Annotated[float | None, typer.Option(min=0, help="Greatest absolute difference.")] = None,
) -> None:
    """Show the first call with equal arguments but different results in two saved traces.

    Ends with status 1 if the traces differ.
    """
    with failures(), words(ValueError):
        comparison = compare_runs(first=first, second=second, rtol=rtol, atol=atol)
    typer.echo(str(comparison))
    if not comparison:
        raise typer.Exit(1)
