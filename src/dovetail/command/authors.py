"""``dovetail new``, ``stubs`` and ``codegen``, for authors of operator libraries: a
new package, stubs for type checkers, generated code.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .common import AsJson, UsageError, failures, print_json, words

if TYPE_CHECKING:
    from dovetail_aten.codegen import Build  # needs an extra


def new(
    name: Annotated[str, typer.Argument(help="Name of the distribution, such as dovetail-signal.")],
    namespace: Annotated[
        str, typer.Option(help="Namespace of the operators. Default: from the name.")
    ] = "",
    folder: Annotated[
        Path, typer.Option(help="Where to create the new folder.", file_okay=False)
    ] = Path("."),
    as_json: AsJson = False,
) -> None:
    """Create a package with an operator library, ready to install and test.

    It contains an operator with schema, CPU kernel, shape rule and derivative, an entry point for
    Dovetail, and tests: pip install -e 'NAME[dev]' && pytest NAME.
    """
    from .scaffold import write_package

    with failures(), words(ValueError, FileExistsError):
        written = write_package(name, folder, namespace or None)
    if as_json:
        print_json([str(path) for path in written])
        return
    for path in written:
        typer.echo(f"wrote {path}")
    root = folder / name
    missing = [each for each in ("testing", "pytest") if find_spec(f"dovetail_{each}") is None]
    if missing:
        names = " and ".join([f"dovetail-{each}" for each in missing])
        typer.echo(f"first: install {names}, from the clone or the wheels of this Dovetail")
    typer.echo(f"next: pip install -e '{root}[dev]' && pytest {root} && dovetail check {name}")


def stubs(
    namespace: Annotated[
        str, typer.Argument(help="Namespace of an installed library, such as activations.")
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="File to write. Default: print.")
    ] = None,
) -> None:
    """Write a .pyi stub of dovetail.ops.NAMESPACE: every operator with the types of its
    arguments.
    """
    from .._files import write_text
    from ..inspection.stub_text import stub_of

    with failures(), words(RuntimeError, OSError):
        text = stub_of(namespace)
        if output is not None:
            write_text(output, text)
    if output is None:
        typer.echo(text, nl=False)
    else:
        typer.echo(f"wrote {output}")


def codegen(
    folder: Annotated[
        Path,
        typer.Argument(
            help="Package folder with native_functions.yaml, or with declarations by family.",
            exists=True,
            file_okay=False,
        ),
    ],
    ops: Annotated[
        Path | None,
        typer.Option(
            metavar="LIST.yaml",
            help="Only the operators in this list.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    autograd: Annotated[
        bool, typer.Option("--autograd/--no-autograd", help="With --ops: include derivatives.")
    ] = True,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain", help="With --ops: write nothing; show the operators that each entry adds."
        ),
    ] = False,
    check: Annotated[
        bool, typer.Option(help="Write nothing; end with status 1 if files are stale.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Generate the code of a library from its declarations: native_functions.yaml and
    derivatives.yaml.

    A selective build (--ops) contains the operators of a list, [add, mm] or {ops: [add], without:
    [mm]}, and the operators that their composites and derivatives call. Use a copy of the package.
    The error of a call of an omitted operator names what to add to the list.
    """
    with failures():
        if ops is None and (explain or not autograd):
            raise UsageError("--explain and --no-autograd go with --ops LIST.yaml. Give a list.")
        try:
            from dovetail_aten import codegen as generator
        except ModuleNotFoundError as missing:
            if missing.name != "yaml":
                raise
            raise RuntimeError(
                "generating code needs PyYAML. Install it: pip install PyYAML"
            ) from None
        with words(generator.DeclarationError):
            library = generator.Library.of_folder(folder)
        selection = None if ops is None else generator.read_selection(ops, autograd=autograd)
        if explain:
            _explain(generator.read_build(library, selection), as_json=as_json)
            return
        if check:
            paths = generator.stale_files(library, selection=selection)
        else:
            paths = generator.write_files(library, selection=selection)
    if as_json:
        print_json([str(path) for path in paths])
    else:
        for path in paths:
            typer.echo(f"{'stale' if check else 'wrote'}: {path}")
        if not paths:
            typer.echo("nothing to do: the generated files are up to date")
    if check and paths:
        raise typer.Exit(1)


def _explain(build: Build, *, as_json: bool) -> None:
    """Print the operators that each entry of the list of a selective build adds."""
    from dovetail_aten.codegen import dragged_in, explanation

    if as_json:
        table = {
            entry: [
                {"operator": need.group, "called_by": need.by, "in": need.through} for need in needs
            ]
            for entry, needs in dragged_in(build).items()
        }
        print_json(table)
        return
    for line in explanation(build):
        typer.echo(line)
