"""``dovetail conformance``: a backend passes the checks of every operator of a namespace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from fnmatch import fnmatchcase
from importlib.metadata import version
from textwrap import indent
from typing import Annotated

import typer

from dovetail_kernel import Device, has_backend, plugin_manager
from dovetail_kernel import backend as backend_of

from ..testing import Outcome, check_op_info, op_infos
from .common import AsJson, UsageError, failures, print_json, print_rows

STATES = ("passed", "failed", "skipped")


def conformance(
    namespace: Annotated[str, typer.Argument(help="Whose operators.")] = "aten",
    backend: Annotated[
        str, typer.Option(help="An installed device type, such as cuda, or cuda:1.")
    ] = "cpu",
    check: Annotated[
        list[str] | None, typer.Option(help="Only this check; may be given several times.")
    ] = None,
    only: Annotated[
        str, typer.Option(metavar="PATTERN", help="Only these operators: 'aten::add*'.")
    ] = "",
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the table as Markdown, for a README.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Test a backend: run every check of every operator of a namespace on its samples.

    The samples and checks are installed with the libraries; nothing else is needed. Prints a table
    by family of operators, and what failed; ends with status 1 if something did.
    """
    with failures(), loaded_device(backend) as device:
        names = tuple(check or ())
        chosen = [info for info in op_infos(namespace) if fnmatchcase(info.name, only or "*")]
        if not chosen:
            raise UsageError(f"no operator of {namespace!r} with samples matches {only or '*'!r}.")
        outcomes = [
            each for info in chosen for each in check_op_info(info, device=device, names=names)
        ]
    failed = [each for each in outcomes if each.state == "failed"]
    if as_json:
        print_json([asdict(each) for each in outcomes])
    else:
        fields = ("family", "operators", *STATES)
        if markdown:
            typer.echo(markdown_of(rows_of(outcomes), fields, device))
        else:
            print_rows(rows_of(outcomes), fields)
        for each in failed:
            typer.secho(f"✗ {each.operator}: {each.check}", fg="red")
            typer.echo(indent(each.detail, "    "))
        operators = len({each.operator for each in outcomes})
        typer.echo(
            f"{operators} operators on {device.type}: {len(failed)} of {len(outcomes)} checks "
            "failed"
        )
    if failed:
        raise typer.Exit(1)


def rows_of(outcomes: list[Outcome]) -> list[dict[str, str]]:
    """Return a row for each family of operators, with how many checks are in each state."""
    rows = []
    for family in dict.fromkeys(each.family for each in outcomes):
        of_family = [each for each in outcomes if each.family == family]
        counts = Counter(each.state for each in of_family)
        operators = len({each.operator for each in of_family})
        rows.append(
            {"family": family or "–", "operators": str(operators)}
            | {state: str(counts[state]) for state in STATES}
        )
    return rows


def markdown_of(rows: list[dict[str, str]], fields: Sequence[str], device: Device) -> str:
    """Return rows, and their sum, as a table in Markdown with the command that made it."""
    total = {"family": "all"} | {
        field: str(sum([int(row[field]) for row in rows])) for field in fields[1:]
    }
    lines = [f"| {' | '.join(fields)} |", f"|{'---|' * len(fields)}"]
    lines += [f"| {' | '.join([row[field] for field in fields])} |" for row in [*rows, total]]
    made_by = f"`dovetail conformance --backend {device.type} --markdown`"
    return "\n".join([*lines, "", f"Made by {made_by}, dovetail {version('dovetail')}.", ""])


def loaded_device(name: str) -> Device:
    """Return a device, after loading its backend.

    Raises
    ------
    PluginError
        If the backend cannot be had, with the reason.
    """
    device = Device(name)
    if not (has_backend(device.type) and backend_of(device.type).is_attached):
        plugin_manager.load_backend(device.type)
    return device
