"""The ``dovetail`` command: what is installed, what is registered, and which kernel a call runs."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

import dovetail
from dovetail.library import dispatch_table
from dovetail_kernel import plugin_manager

if TYPE_CHECKING:
    from dovetail_dispatcher import Explanation

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Dovetail: which kernel runs, and why.")
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def main() -> None:
    """Run the command line."""
    app()


@app.command()
def plugins(as_json: AsJson = False) -> None:
    """List the installed plugins, without importing any."""
    if as_json:
        rows = [
            {
                "distribution": r.distribution,
                "version": r.version,
                "group": r.group,
                "name": r.name,
                "state": r.state,
                "kernels": r.kernels,
            }
            for r in plugin_manager.list_plugins()
        ]
        typer.echo(json.dumps(rows, indent=2))
    else:
        show_plugins(Console())


def show_plugins(console: Console) -> None:
    """Print the table of installed plugins."""
    table = Table("distribution", "version", "group", "name", "state", "kernels", title="Dovetail plugins")
    for record in plugin_manager.list_plugins():
        kernels = str(record.kernels) if record.kernels else ""
        table.add_row(record.distribution, record.version, record.group, record.name, record.state, kernels)
    console.print(table)


@app.command()
def ops(pattern: str = "*", as_json: AsJson = False) -> None:
    """List the operators whose qualified name matches PATTERN (such as 'aten::add*')."""
    found = [op for op in _operators(pattern) if fnmatchcase(op, pattern)]
    if as_json:
        typer.echo(json.dumps(found, indent=2))
    else:
        for name in found:
            typer.echo(str(_overload(name)._schema))


@app.command()
def table(op: str) -> None:
    """Print the computed dispatch table of OP, such as aten::add.Tensor."""
    _load_library_of(op)
    typer.echo(str(dispatch_table(op)))


@app.command()
def explain(
    op: str,
    args: Annotated[
        str, typer.Option(help="The arguments, as Python with `dovetail` in scope: 'dovetail.ones(2), 3'.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Say which kernels a call of OP with --args would run, and why, without running it."""
    _load_library_of(op)
    given = eval(f"({args},)" if args.strip() else "()", {"dovetail": dovetail})
    explanation = dovetail.explain(_overload(op), *given)
    if as_json:
        typer.echo(explanation.as_json())
    else:
        show_explanation(explanation, Console())


def show_explanation(explanation: Explanation, console: Console) -> None:
    """Print an explanation as a tree."""
    console.print(str(explanation), markup=False, soft_wrap=True)


def _operators(pattern: str) -> list[str]:
    _load_library_of(pattern)
    names: list[str] = dovetail._C._dispatch_get_all_op_names()
    return sorted(names)


def _load_library_of(name: str) -> None:
    namespace = name.partition("::")[0]
    if namespace in plugin_manager.namespaces():
        plugin_manager.load_library(namespace)


def _overload(name: str) -> Any:
    namespace, _, rest = name.partition("::")
    base, _, overload = rest.partition(".")
    return getattr(getattr(getattr(dovetail.ops, namespace), base), overload or "default")
