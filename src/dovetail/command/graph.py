"""``dovetail graph``: draws the graph of the result of a function in a file."""

from __future__ import annotations

import runpy
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from dovetail_aten import Tensor

from .common import AsJson, UsageError, failures, print_json, words


def graph(
    target: Annotated[
        str,
        typer.Argument(metavar="FILE.py:FUNCTION", help="A file and a function of no arguments."),
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="SVG file to write. Default: print a tree."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of nodes to draw.")] = 500,
    as_json: AsJson = False,
) -> None:
    """Draw the autograd graph of the tensor that a function returns.

    The function returns a tensor, or a pair of a tensor and names for leaves: a module, or a dict
    of tensors.
    """
    from ..inspection.drawing import draw_graph

    with failures():
        if output is not None and output.suffix not in ("", ".svg"):
            raise UsageError(f"{output}: a drawing is an SVG file. Name it {output.stem}.svg.")
        tensor, params = _returned(target)
        drawing = draw_graph(tensor, params, limit=limit)
        if output is not None:
            with words(OSError):
                drawing.save(output)
    if as_json:
        print_json([vars(vertex) for vertex in drawing.graph.vertices])
    elif output is None:
        typer.echo(str(drawing))
    else:
        typer.echo(f"wrote {output}: {len(drawing.graph.vertices)} boxes")


@contextmanager
def _explained(what: str) -> Iterator[None]:
    """Return the place of an error in the user's program."""
    try:
        yield
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [each for each in frames if each.filename.endswith(".py") and not _is_ours(each)]
        place = f" at {own[-1].filename}:{own[-1].lineno}: {own[-1].line}" if own else ""
        raise RuntimeError(f"{what}: {type(error).__name__}{place}\n{error}") from error


def _is_ours(frame: traceback.FrameSummary) -> bool:
    parts = Path(frame.filename).parts
    return "runpy.py" in parts or any(part.startswith("dovetail") for part in parts)


def _returned(target: str) -> tuple[Any, Any]:
    """Return the result of the function of `target`: a tensor, and names for its leaves or None."""
    file, colon, name = target.rpartition(":")
    if not colon or not name.isidentifier():
        raise UsageError(
            f"{target!r} does not name a function. Write FILE.py:FUNCTION, such as train.py:loss."
        )
    if not Path(file).is_file():
        raise UsageError(
            f"there is no file {file!r}. Give the path of a Python file before the colon."
        )
    sys.path.insert(0, str(Path(file).resolve().parent))
    with _explained(f"{file} does not run"):
        names = runpy.run_path(file)
    if not callable(names.get(name)):
        functions = ", ".join(
            sorted(n for n, value in names.items() if callable(value) and not n.startswith("_"))
        )
        raise UsageError(f"{file} has no function {name!r}. It has: {functions or 'none'}.")
    with _explained(f"{name}() of {file} raised"):
        result = names[name]()
    first = result[0] if isinstance(result, tuple) and result else result
    if not isinstance(first, Tensor):
        raise TypeError(
            f"{name}() of {file} returned {type(result).__name__}, and no tensor. Return the "
            "loss, or the loss and the module that it is of."
        )
    if isinstance(result, tuple) and len(result) == 2 and not isinstance(result[1], Tensor):
        return result
    return result, None
