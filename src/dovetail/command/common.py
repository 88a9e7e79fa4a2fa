"""Shared by the commands: options, tables, errors, and loading the library of an operator."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from importlib import import_module
from types import ModuleType
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Column, Table

from dovetail_dispatcher import _C
from dovetail_kernel import Backend, PluginError, plugin_manager

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Operator = Annotated[
    str, typer.Argument(metavar="OP", help="An operator, such as aten::add.Tensor.")
]

WIDTH_OF_FILES = 160
"""Width of a table in a file or a pipe, in columns."""


def print_json(data: object) -> None:
    """Print `data` as JSON."""
    typer.echo(json.dumps(data, indent=2))


def print_rows(rows: Sequence[Mapping[str, object]], fields: Sequence[str]) -> None:
    """Print `rows` as a table with the columns `fields`."""
    first, *others = [Column(field, overflow="fold") for field in fields]
    first.no_wrap = True  # the name of what a row is about stays whole, however many columns follow
    table = Table(first, *others, box=SIMPLE_HEAD)
    for row in rows:
        table.add_row(*[str(row[field] or "") for field in fields])
    console = Console()
    (console if console.is_terminal else Console(width=WIDTH_OF_FILES)).print(table)


def _suggestion(word: str, known: Iterable[str]) -> str:
    """Return " Did you mean 'aten::add'?" for a word close to a name of its namespace that is
    known, else nothing.
    """
    from difflib import get_close_matches  # errors alone need it

    namespace, colons, base = word.partition("::")
    bases = [each.partition("::")[2] for each in known if each.startswith(namespace + colons)]
    near = get_close_matches(base, bases, n=1)
    return f" Did you mean '{namespace}{colons}{near[0]}'?" if near else ""


class UsageError(Exception):
    """The arguments of the command are invalid, or name something that does not exist. Status 2."""


@contextmanager
def words(*errors: type[Exception]) -> Iterator[None]:
    """Report `errors` in the block as errors in the arguments of the command."""
    try:
        yield
    except PluginError:  # it is installed, and fails
        raise
    except errors as error:
        raise UsageError(_text_of(error)) from None


def imported(name: str) -> ModuleType:
    """Import a module named in the command.

    Raises
    ------
    UsageError
        If there is no such module.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if f"{name}.".startswith(f"{error.name}."):
            raise UsageError(f"there is no module {name!r}.") from None
        raise


def _text_of(error: Exception) -> str:
    """Return the text of an error, with its class if the message alone is unclear."""
    is_bare = isinstance(error, KeyError | IndexError | AssertionError | SyntaxError | NameError)
    return f"{type(error).__name__}: {error}" if is_bare or not str(error) else str(error)


@contextmanager
def failures() -> Iterator[None]:
    """End with status 1 and the text of an error, which contains a remedy, instead of a traceback;
    with status 2 where the command itself was not understood.
    """
    try:
        yield
    except typer.Exit:
        raise
    except UsageError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None
    except Exception as error:
        typer.echo(_text_of(error), err=True)
        raise typer.Exit(1) from None


def matching(pattern: str) -> list[str]:
    """Return the names of the operators that match `pattern`; one without a namespace is looked for
    in aten.

    Raises
    ------
    UsageError
        If none does.
    """
    load_library_of(pattern)
    names = _C._dispatch_get_all_op_names()
    wanted = pattern if "::" in pattern or pattern == "*" else f"aten::{pattern}"
    found = sorted(name for name in names if fnmatchcase(name, wanted))
    if not found:
        bases = {name.partition(".")[0] for name in names}
        raise UsageError(
            f"no operator matches {wanted!r}.{_nearest(pattern, wanted, bases)} `dovetail ops "
            "'aten::*'` lists those of a namespace."
        )
    return found


def _nearest(pattern: str, wanted: str, bases: set[str]) -> str:
    """Return a sentence that suggests similar names for a pattern."""
    if pattern in plugin_manager.namespaces():
        return f" {pattern} is a namespace: ask for '{pattern}::*'."
    return _suggestion(wanted, bases)


def overloads_of(name: str) -> list[str]:
    """Return the operators that a name means: itself, or the overloads of its packet; one without
    a namespace is looked for in aten.

    Raises
    ------
    UsageError
        If there is no such operator.
    """
    load_library_of(name)
    wanted = name if "::" in name else f"aten::{name}"
    names = _C._dispatch_get_all_op_names()
    wanted = wanted.removesuffix(".default")
    if wanted in names:
        return [wanted]
    found = sorted(name for name in names if name.partition(".")[0] == wanted)
    if not found:
        bases = names if "." in wanted else {name.partition(".")[0] for name in names}
        raise UsageError(
            f"operator {wanted} does not exist.{_suggestion(wanted, bases)} Define it, or load "
            "the library that does."
        )
    return found


def load_backend(backend: Backend) -> bool:
    """Load a backend if it is installed; return whether it is a device type with arrays."""
    if backend.name in plugin_manager.device_types():
        with suppress(PluginError):
            plugin_manager.load_backend(backend.name)
    return backend.is_attached and backend.is_device


def load_library_of(name: str) -> None:
    """Load the installed library that `name`, or a pattern, belongs to."""
    namespace = name.partition("::")[0]
    if namespace in plugin_manager.namespaces():
        plugin_manager.load_library(namespace)
