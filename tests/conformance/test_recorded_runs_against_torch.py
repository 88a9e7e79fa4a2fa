"""A run that PyTorch recorded, compared with the same program here: what agrees, and what parts."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import dovetail
from dovetail.library import Library

pytestmark = pytest.mark.cpu_only(reason="the kernels of both are those of the CPU")

RECORD = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "record_torch_run.py"))[
    "record"
]


def program(library: Any, x: Any, w: Any, v: Any) -> Any:
    """Return the loss of a small network, after its backward."""
    F = library.nn.functional
    hidden = library.tanh(F.linear(x, w)).exp()
    logits = F.layer_norm(hidden, (6,)) @ v
    loss = F.cross_entropy(logits, library.tensor([0, 2, 1, 0]))
    loss.backward()
    return loss


def arguments(library: Any) -> list[Any]:
    random = np.random.default_rng(0)
    made = [random.standard_normal(s).astype(np.float32) for s in ((4, 5), (6, 5), (6, 3))]
    return [library.from_numpy(each).requires_grad_() for each in made]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "torch.json"
    RECORD(path, program, torch, *arguments(torch))
    return path


@contextmanager
def planted(name: str, spoil: Callable[[Any], Any]) -> Iterator[None]:
    op = getattr(dovetail.ops.aten, name)
    is_inside = False

    def wrong(*args: Any, **kwargs: Any) -> Any:
        nonlocal is_inside
        is_inside = True
        try:
            return spoil(op(*args, **kwargs))
        finally:
            is_inside = False

    library = Library("aten", "IMPL")
    library.impl(name, wrong, "CPU", when=lambda *_, **__: not is_inside, why="planted")
    try:
        yield
    finally:
        library._destroy()


def test_the_same_program_agrees(recorded: Path) -> None:
    comparison = dovetail.compare_runs(program, (dovetail, *arguments(dovetail)), first=recorded)
    assert comparison, str(comparison)
    assert comparison.compared > 15


def tuple_spoilt(value: Any) -> Any:
    return (value[0] * 1.001, *value[1:])


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("mm", lambda y: y * 1.001),
        ("tanh", lambda y: y * 1.001),
        ("exp", lambda y: y * 1.001),
        ("native_layer_norm", tuple_spoilt),
        ("_log_softmax", lambda y: y * 1.001),
        ("tanh_backward", lambda y: y * 1.001),
        ("_log_softmax_backward_data", lambda y: y * 1.001),
        ("native_layer_norm_backward", tuple_spoilt),
    ],
)
def test_a_wrong_kernel_is_named(recorded: Path, name: str, spoil: Any) -> None:
    with planted(name, spoil):
        comparison = dovetail.compare_runs(
            program, (dovetail, *arguments(dovetail)), first=recorded
        )
    assert comparison.parting is not None and comparison.parting.name == f"aten::{name}"
