"""The command line application, with one function per command."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from . import authors, check, compare, conformance, doctor, explain, graph, listings, run

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",  # paragraphs are filled, and brackets stay
    help="Dovetail: which kernel runs, and why. Every listing also comes as JSON, with --json.",
    epilog="Example: dovetail explain aten::add.Tensor --args 'dovetail.ones(2), dovetail.ones(2)'"
    ". Status 0: success. 1: failure. 2: invalid arguments.",
)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"dovetail {version('dovetail')}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Process the options of the command itself."""


def main() -> None:
    """Run the command line."""
    app()


for function, example in (
    (listings.plugins, "dovetail plugins"),
    (listings.ops, "dovetail ops 'aten::*_backward'"),
    (listings.coverage, "dovetail coverage 'aten::conv*'"),
    (explain.table, "dovetail table aten::add.Tensor"),
    (explain.explain, "dovetail explain aten::sum --args 'dovetail.ones(2, 3), [0]'"),
    (compare.compare, "dovetail compare before.json after.json"),
    (check.check, "dovetail check dovetail-activations"),
    (conformance.conformance, "dovetail conformance --backend cuda"),
    (authors.new, "dovetail new dovetail-signal && pip install -e dovetail-signal"),
    (authors.stubs, "dovetail stubs activations -o activations.pyi"),
    (authors.codegen, "dovetail codegen src/my_library --ops list.yaml"),
    (graph.graph, "dovetail graph train.py:loss -o graph.svg"),
    (doctor.doctor, "dovetail doctor"),
):
    app.command(epilog=f"Example: {example}")(function)
app.command(epilog="Example: dovetail run train.py --epochs 3", context_settings=run.CONTEXT)(
    run.run
)
