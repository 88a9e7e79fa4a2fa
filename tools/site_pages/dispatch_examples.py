"""Explanations of calls, for the page on which one chooses operator, arguments and modes."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import dovetail
from dovetail import Tensor
from dovetail.library import Library

from .files import without_root, write_text

__all__ = ["explanations", "write_dispatch_examples"]

_ops = dovetail.ops.aten
OPERATORS: dict[str, tuple[Any, int, str]] = {
    "add": (_ops.add.Tensor, 2, "x + y"),
    "mul": (_ops.mul.Tensor, 2, "x * y"),
    "add_ (in place)": (_ops.add_.Tensor, 2, "x += y"),
    "mm": (_ops.mm.default, 2, "x @ y"),
    "relu": (_ops.relu.default, 1, "x.relu()"),
    "sum": (_ops.sum.default, 1, "x.sum()"),
    "t (a view)": (_ops.t.default, 1, "x.t()"),
    "matmul (a composite)": (_ops.matmul.default, 2, "dovetail.matmul(x, y)"),
    "cube (of a third party)": (None, 1, "dovetail.ops.site.cube(x)"),
}
"""What can be chosen: the overload, how many tensors it takes, and how it is called."""


def _plain(count: int) -> list[Tensor]:
    return [dovetail.ones(2, 2) for _ in range(count)]


def _in_inference_mode(count: int) -> list[Tensor]:
    with dovetail.inference_mode():
        return _plain(count)


ARGUMENTS: dict[str, Callable[[int], list[Tensor]]] = {
    "float32": _plain,
    "float32 that requires grad": lambda count: [
        each.clone().requires_grad_() for each in _plain(count)
    ],
    "float32 and float64": lambda count: [
        dovetail.ones(2, 2),
        *(each.double() for each in _plain(count - 1)),
    ],
    "int64": lambda count: [each.long() for each in _plain(count)],
    "on the meta device": lambda count: [each.to("meta") for each in _plain(count)],
    "made in inference mode": _in_inference_mode,
}
MODES: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "no mode": nullcontext,
    "no_grad()": dovetail.no_grad,
    "inference_mode()": dovetail.inference_mode,
    'autocast("cpu")': lambda: dovetail.autocast("cpu", dtype=dovetail.bfloat16),
}


def explanations() -> dict[str, Any]:
    """Return what `explain` knows of every combination, by operator, arguments and mode."""
    library = Library("site", "FRAGMENT")
    library.define("cube(Tensor x) -> Tensor")
    library.array_impl("cube", cube, "CPU")
    try:
        operators = OPERATORS | {
            name: (dovetail.ops.site.cube.default, count, call)
            for name, (overload, count, call) in OPERATORS.items()
            if overload is None
        }
        found = {
            f"{name}|{arguments}|{mode}": _explained(overload, make(count), modes)
            for name, (overload, count, _) in operators.items()
            for arguments, make in ARGUMENTS.items()
            for mode, modes in MODES.items()
        }
    finally:
        library._destroy()
    calls = {name: call for name, (_, _, call) in OPERATORS.items()}
    return {"calls": calls, "arguments": [*ARGUMENTS], "modes": [*MODES], "found": found}


def cube(x: Any) -> Any:
    """Return the third power of an array: the kernel of a third party, without a derivative."""
    return x * x * x


def _explained(
    overload: Any, arguments: list[Tensor], mode: Callable[[], AbstractContextManager[object]]
) -> dict[str, Any]:
    with mode():
        found: dict[str, Any] = dovetail.explain(overload, *arguments).as_dict()
    return found


def write_dispatch_examples(folder: Path) -> None:
    """Write the data as a script, which a page opened from disk can load."""
    text = json.dumps(explanations(), separators=(",", ":"), default=str)
    write_text(folder / "dispatch-data.js", f"window.DISPATCH = {without_root(text)};\n")
