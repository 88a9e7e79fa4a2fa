"""``dovetail conformance``: a backend passes the checks of every operator of a namespace."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from fnmatch import fnmatchcase
from importlib.metadata import version
from textwrap import indent
from typing import Annotated

import typer

from ..testing import Outcome, op_infos
from ..testing.runs import chosen_checks
from .common import AsJson, UsageError, failures, print_json, print_rows, words
from .conformance_runs import ALL, chosen_operators, loaded_device, outcomes_of, with_progress

STATES = ("passed", "failed", "skipped")


def conformance(
    namespace: Annotated[str, typer.Argument(help="Namespace of the operators.")] = "aten",
    backend: Annotated[
        str, typer.Option(help="An installed device type, such as cuda, or cuda:1.")
    ] = "cpu",
    check: Annotated[
        list[str] | None, typer.Option(help="Only this check; may be repeated.")
    ] = None,
    only: Annotated[
        str, typer.Option(metavar="PATTERN", help="Only these operators: 'aten::add*'.")
    ] = "",
    operators: Annotated[
        str,
        typer.Option(
            metavar="COUNT|K/N|all",
            help="The number of operators, chosen by --seed; a part of them; or all, at about "
            "a second each.",
        ),
    ] = "100",
    seed: Annotated[
        int | None, typer.Option(help="Seed of the choice of operators. Default: random.")
    ] = None,
    jobs: Annotated[
        int, typer.Option(min=1, help="Number of processes, if the libraries are installed.")
    ] = 1,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the table as Markdown, for a README.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Test a backend: run every check of every operator of a namespace on its samples.

    The checks and the samples of the base library are in the distribution dovetail-testing. Prints
    a table by family of operators, and failed checks; ends with status 1 if a check fails.
    """
    seed = random.randrange(10**6) if seed is None else seed
    with failures(), loaded_device(backend) as device:
        with words(RuntimeError):
            infos = op_infos(namespace)
        matching = [info for info in infos if fnmatchcase(info.name, only or "*")]
        if not matching:
            raise UsageError(f"no operator of {namespace!r} with samples matches {only or '*'!r}.")
        with words(ValueError):
            chosen_checks(tuple(check or ()))
        chosen = chosen_operators(matching, operators, seed)
        given = f" --only '{only}'" if only else ""
        if len(chosen) < len(matching):
            given += f" --operators {operators} --seed {seed}"
            typer.echo(
                f"{len(chosen)} of {len(matching)} operators. These again: --operators "
                f"{operators} --seed {seed}. All: --operators {ALL}.",
                err=True,
            )
        runs = outcomes_of(chosen, device, tuple(check or ()), jobs)
        outcomes = [each for run in with_progress(runs, len(chosen)) for each in run]
    failed = [each for each in outcomes if each.state == "failed"]
    if as_json:
        print_json([asdict(each) for each in outcomes])
    else:
        fields = ("family", "operators", *STATES)
        if markdown:
            made_by = (
                f"dovetail conformance --backend {device.type}{given or f' --operators {ALL}'}"
            )
            typer.echo(markdown_of(rows_of(outcomes), fields, len(matching), made_by))
        else:
            print_rows(rows_of(outcomes), fields)
        for each in failed:
            typer.secho(f"✗ {each.operator}: {each.check}", fg="red")
            typer.echo(indent(each.detail, "    "))
        tested = len({each.operator for each in outcomes})
        typer.echo(
            f"{tested} operators on {device.type}: {len(failed)} of {len(outcomes)} checks failed"
        )
    if failed:
        raise typer.Exit(1)


def rows_of(outcomes: list[Outcome]) -> list[dict[str, str]]:
    """Return a row for each family of operators, with the number of checks in each state."""
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


def markdown_of(
    rows: list[dict[str, str]], fields: Sequence[str], there_are: int, made_by: str
) -> str:
    """Return rows and their sum as a Markdown table, with the command that printed it."""
    total = {"family": "all"} | {
        field: str(sum([int(row[field]) for row in rows])) for field in fields[1:]
    }
    lines = [f"| {' | '.join(fields)} |", f"|{'---|' * len(fields)}"]
    lines += [f"| {' | '.join([row[field] for field in fields])} |" for row in [*rows, total]]
    tested = int(total["operators"])
    sample = f" A sample of {tested} of {there_are} operators." if tested < there_are else ""
    made = f"Made by `{made_by} --markdown`, dovetail {version('dovetail')}.{sample}"
    return "\n".join([*lines, "", made, ""])
