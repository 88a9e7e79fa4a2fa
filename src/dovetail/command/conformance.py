"""``dovetail conformance``: a backend passes the checks of every operator of a namespace."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from textwrap import indent
from typing import Annotated

import typer

from dovetail_kernel import Device, has_backend, plugin_manager
from dovetail_kernel import backend as backend_of

from ..testing import Outcome, check_op_infos
from .common import AsJson, failures, print_json, print_rows

STATES = ("passed", "failed", "skipped")


def conformance(
    namespace: Annotated[str, typer.Argument(help="Whose operators.")] = "aten",
    backend: Annotated[
        str, typer.Option(help="An installed device type, such as cuda, or cuda:1.")
    ] = "cpu",
    check: Annotated[
        list[str] | None, typer.Option(help="Only this check; may be given several times.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Test a backend: run every check of every operator of a namespace on its samples.

    The samples and checks are installed with the libraries; nothing else is needed. Prints a table
    by family of operators, and what failed; ends with status 1 if something did.
    """
    with failures(), loaded_device(backend) as device:
        outcomes = list(check_op_infos(namespace, device=device, names=tuple(check or ())))
    failed = [each for each in outcomes if each.state == "failed"]
    if as_json:
        print_json([asdict(each) for each in outcomes])
    else:
        print_rows(rows_of(outcomes), ("family", "operators", *STATES))
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
