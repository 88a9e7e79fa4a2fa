"""``dovetail check``: every operator of a library, on its samples or on generated arguments."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from textwrap import indent, wrap
from typing import Annotated, Any

import typer

from dovetail_dispatcher import ops
from dovetail_kernel import plugin_manager

from ..inspection.generated_inputs import Inputs
from ..inspection.library_checks import EXPLANATIONS, CheckResult, check_library
from .common import AsJson, UsageError, failures, imported, print_json

MARKS = {"passed": ("✓", "green"), "failed": ("✗", "red"), "skipped": ("–", "yellow")}


def check(
    package: Annotated[
        str, typer.Argument(help="An installed distribution that has a library, or a namespace.")
    ],
    load: Annotated[
        str, typer.Option(help="Import this module first, for operators that no plugin registers.")
    ] = "",
    samples: Annotated[
        str,
        typer.Option(help="MODULE:NAME of a dict from operator names to lists of argument tuples."),
    ] = "",
    strict: Annotated[
        bool, typer.Option(help="Also fail if an operator could not be checked at all.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check all operators of a library: are schema, kernels, shape rules and derivatives
    consistent?

    Arguments are the samples of an operator's OpInfo; without one they are generated from its
    schema. Generated arguments that the operator rejects are ignored; if it rejects all, pass
    --samples. Ends with status 1 if a check fails, and prints a program that shows the failure.
    """
    with failures():
        sys.path.insert(0, "")
        if load:
            imported(load)
        given = _samples(samples) if samples else None
        results: list[CheckResult] = []
        for namespace in namespaces_of(package):
            for result in check_library(namespace, given):
                results.append(result)
                if not as_json:
                    _print(
                        result,
                        is_first=len(results) == 1 or results[-2].operator != result.operator,
                    )
    if as_json:
        print_json(
            [{**asdict(result), "explanation": EXPLANATIONS[result.check]} for result in results]
        )
    else:
        _print_summary(results)
    unchecked = any(result.check == "arguments" and result.state == "skipped" for result in results)
    if any(result.state == "failed" for result in results) or (strict and unchecked):
        raise typer.Exit(1)


def namespaces_of(package: str) -> list[str]:
    """Return the namespaces of the libraries of a distribution; `package` itself if it names a
    namespace.

    Raises
    ------
    UsageError
        If the distribution has no library, or nothing has the name.
    """
    plugin_manager.refresh()
    libraries = [
        record for record in plugin_manager.list_plugins() if record.group == "dovetail.libraries"
    ]
    if any(record.name == package for record in libraries):
        return [package]
    found = [
        record.name
        for record in libraries
        if _normalized(record.distribution) == _normalized(package)
    ]
    if found:
        return found
    from importlib.metadata import PackageNotFoundError, version

    try:
        version(package)
    except PackageNotFoundError:
        if not dir(getattr(ops, package)):
            raise UsageError(
                f"there is no library {package!r}: no distribution and no namespace of operators "
                "has this name. 'dovetail plugins' lists what is installed."
            ) from None
        return [package]
    raise UsageError(
        f"{package} is installed, but has no entry point in the group 'dovetail.libraries'. Add "
        "one to its pyproject, "
        "or check a namespace with --load MODULE."
    )


def _normalized(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()


def _samples(target: str) -> dict[str, list[Inputs]]:
    module, _, name = target.partition(":")
    table: dict[str, Iterable[Any]] | None = getattr(imported(module), name, None)
    if not isinstance(table, dict):
        raise UsageError(
            f"--samples is {target!r}, which names no dict. Write MODULE:NAME of a dict from "
            "operator names to lists of argument tuples."
        )
    return {
        operator: [Inputs(tuple(args), {}, f"sample {number}") for number, args in enumerate(rows)]
        for operator, rows in table.items()
    }


def _print(result: CheckResult, *, is_first: bool) -> None:
    if is_first:
        typer.secho(result.operator, bold=True)
    mark, colour = MARKS[result.state]
    typer.secho(f"  {mark} {result.check}", fg=colour, nl=False)
    typer.echo(f": {EXPLANATIONS[result.check]}")
    if result.state != "passed":
        for line in result.detail.splitlines():
            typer.echo(
                "\n".join(wrap(line, 96, initial_indent="      ", subsequent_indent="      "))
            )
    if result.reproducer:
        typer.echo("      To see it again:")
        typer.echo(indent(result.reproducer, " " * 10))


def _print_summary(results: list[CheckResult]) -> None:
    states = Counter(result.state for result in results)
    operators = len({result.operator for result in results})
    unchecked = sum(result.check == "arguments" and result.state == "skipped" for result in results)
    typer.echo(
        f"{operators} operators: {states['passed']} checks passed, {states['failed']} failed, "
        f"{states['skipped']} skipped"
        + (f"; {unchecked} operators were not checked at all" if unchecked else "")
    )
