"""Selective builds of the base library in folders of their own, and calls that run in one as they
do in the whole library.

Run as a script, with a build first in the path, this reads pickled calls from standard input and
writes what they gave to standard output.
"""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import dovetail_aten


class Leaf(NamedTuple):
    """A tensor as it goes from one process to another."""

    array: Any
    requires_grad: bool


class Call(NamedTuple):
    """A call of an operator with sample arguments, whose tensors are `Leaf`."""

    name: str
    arguments: tuple[Any, ...]
    options: dict[str, Any]
    is_random: bool


def copy_package(folder: Path) -> Path:
    """Copy the base library to `folder`, where it can be generated anew."""
    target = folder / "dovetail_aten"
    shutil.copytree(Path(dovetail_aten.__file__).parent, target)
    return target


def python(folder: Path, *arguments: str, given: bytes = b"") -> bytes:
    """Run Python with the build in `folder` in place of the base library; return what it writes.

    Raises
    ------
    AssertionError
        If it fails, with what it wrote to standard error.
    """
    run = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        check=False,
        input=given,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(folder)},
        timeout=300,
    )
    assert run.returncode == 0, run.stderr.decode()
    return run.stdout


def without_tensors(value: Any) -> Any:
    """Return an argument with `Leaf` in place of tensors."""
    if isinstance(value, dovetail_aten.Tensor):
        return Leaf(np.array(value.array), value.requires_grad)
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        return type(value)(map(without_tensors, value))
    return value


def results(calls: Sequence[Call]) -> list[Any]:
    """Return what calls give: arrays of results and of gradients, or the error, as text."""
    return [_result(call, create_graph=over) for call in calls for over in (False, True)]


def _result(call: Call, *, create_graph: bool) -> Any:
    from dovetail import ops

    leaves: list[Any] = []
    name, _, overload = call.name.removeprefix("aten::").partition(".")
    arguments = _with_tensors(call.arguments, leaves)
    options = {key: _with_tensors(value, leaves) for key, value in call.options.items()}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of old names
            made = getattr(getattr(ops.aten, name), overload or "default")(*arguments, **options)
        outputs = [made] if isinstance(made, dovetail_aten.Tensor) else made
        tensors = [
            each
            for each in (outputs if isinstance(outputs, list | tuple) else [])
            if isinstance(each, dovetail_aten.Tensor)
        ]
        values = [_read(each, call) for each in tensors] or [repr(made)]
        return values, _gradients(tensors, leaves, call, create_graph=create_graph)
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        return type(error).__name__, str(error)


def _gradients(
    tensors: Sequence[Any], leaves: Sequence[Any], call: Call, *, create_graph: bool
) -> list[Any]:
    differentiable = [each for each in tensors if each.requires_grad]
    if not differentiable or not leaves:
        return []
    from dovetail import autograd

    seeds = [
        dovetail_aten.from_numpy(np.full(each.array.shape, 0.5, each.array.dtype))
        for each in differentiable
    ]
    found = autograd.grad(
        differentiable, leaves, seeds, create_graph=create_graph, allow_unused=True
    )
    return [None if each is None else _read(each, call) for each in found]


def _read(tensor: Any, call: Call) -> Any:
    if call.is_random:
        return tuple(tensor.shape), str(tensor.dtype)
    return np.array(tensor.array)


def _with_tensors(value: Any, leaves: list[Any]) -> Any:
    if isinstance(value, Leaf):
        # Of NumPy's own dtype object, which kernels may ask for: a pickled array has another.
        array = np.empty(value.array.shape, value.array.dtype.type)
        array[...] = value.array
        tensor = dovetail_aten.from_numpy(array)
        if value.requires_grad:
            tensor.requires_grad_()
            leaves.append(tensor)
        return tensor
    if type(value) in (list, tuple):
        return type(value)([_with_tensors(each, leaves) for each in value])
    return value


if __name__ == "__main__":
    import selective_builds  # the module that the pickled calls name

    found = selective_builds.results(pickle.load(sys.stdin.buffer))
    sys.stdout.buffer.write(pickle.dumps(found))
