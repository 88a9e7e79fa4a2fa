"""``dovetail doctor``: problems of this installation, and remedies."""

from __future__ import annotations

from dataclasses import asdict
from textwrap import wrap
from typing import Annotated

import typer

from ..inspection.installation_checks import Finding, examine
from ..inspection.installation_report import installation_report
from .common import AsJson, failures, print_json

MARKS = {"fine": ("✓", "green"), "note": ("•", "cyan"), "problem": ("✗", "red")}


def doctor(
    as_json: AsJson = False,
    report: Annotated[
        bool, typer.Option("--report", help="Print one block to paste into a bug report.")
    ] = False,
    routes: Annotated[
        bool,
        typer.Option(
            "--routes",
            help="Call the operators of the base library on their samples; print which part of "
            "their routes is compiled, and why the others are not.",
        ),
    ] = False,
) -> None:
    """Examine this installation: versions, plugins, devices, NumPy, environment. Each problem is
    shown with a remedy.

    Ends with status 1 if there is a problem. A missing device is not a problem.
    """
    if report:
        typer.echo(installation_report())
        return
    if routes:
        from ..inspection.route_report import route_report

        with failures():
            typer.echo("\n".join(route_report("aten").lines()))
        return
    findings = examine()
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            _print(finding)
    if any(finding.state == "problem" for finding in findings):
        raise typer.Exit(1)


def _print(finding: Finding) -> None:
    mark, colour = MARKS[finding.state]
    typer.secho(f"{mark} {finding.subject}: ", fg=colour, nl=False)
    lines = wrap(
        finding.text,
        100 - 4,
        subsequent_indent="    ",
        initial_indent=" " * (len(finding.subject) + 4),
    )
    typer.echo("\n".join(lines).lstrip())
    for line in wrap(finding.remedy, 94, initial_indent="    → ", subsequent_indent="      "):
        typer.echo(line)
