"""``dovetail run``: runs a program that imports torch, on Dovetail."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Annotated

import typer

CONTEXT = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "allow_interspersed_args": False,
}
"""What follows the program is the program's."""


def run(
    context: typer.Context,
    target: Annotated[
        str,
        typer.Argument(metavar="SCRIPT.py | -m MODULE", help="The program; its arguments follow."),
    ] = "",
    module: Annotated[
        str, typer.Option("-m", metavar="MODULE", help="Run a module, as python -m does.")
    ] = "",
    quiet: Annotated[
        bool, typer.Option("-q", "--quiet", help="Omit the notice on standard error.")
    ] = False,
) -> None:
    """Run a script or a module with Dovetail in place of torch.

    In this process, and in Python processes that it starts, torch and its modules are imported from
    Dovetail. A missing name raises an AttributeError or a ModuleNotFoundError that names the
    nearest one.
    """
    from ..torch_imports import as_torch, notice

    arguments = [*([target] if module and target else []), *context.args]
    if not module and not Path(target).is_file():
        typer.echo(
            f"there is no file {target!r}. Write: dovetail run script.py, or dovetail run -m module"
            if target
            else "missing program: dovetail run script.py, or dovetail run -m module",
            err=True,
        )
        raise typer.Exit(2)
    if not quiet:
        typer.echo(notice(), err=True)
    with as_torch(), _carried_over():
        if module and not _is_found(module):
            typer.echo(f"there is no module {module!r}.", err=True)
            raise typer.Exit(2)
        try:
            if module:
                sys.argv = [module, *arguments]
                sys.path.insert(0, "")
                runpy.run_module(module, run_name="__main__", alter_sys=True)
            else:
                sys.argv = [target, *arguments]
                sys.path.insert(0, str(Path(target).resolve().parent))
                runpy.run_path(target, run_name="__main__")
        except Exception as error:
            error.__traceback__ = _of_program(error.__traceback__)
            sys.excepthook(type(error), error, error.__traceback__)
            raise typer.Exit(1) from None


def _is_found(module: str) -> bool:
    """Return whether the first name of a dotted module can be imported from here."""
    sys.path.insert(0, "")
    try:
        return find_spec(module.partition(".")[0]) is not None
    except ValueError:  # a module without a spec is there
        return True
    finally:
        sys.path.remove("")


@contextmanager
def _carried_over() -> Iterator[None]:
    """Let new processes of this interpreter do what ``new_processes/sitecustomize.py`` says."""
    before = os.environ.get("PYTHONPATH")
    folder = str(Path(__file__).with_name("new_processes").resolve())
    os.environ["PYTHONPATH"] = os.pathsep.join([folder, before] if before else [folder])
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


def _of_program(traceback: TracebackType | None) -> TracebackType | None:
    """Return the part of a traceback that begins in the program: without this module and runpy."""
    while traceback is not None and traceback.tb_next is not None:
        if traceback.tb_frame.f_globals.get("__name__") not in (__name__, "runpy"):
            break
        traceback = traceback.tb_next
    return traceback
