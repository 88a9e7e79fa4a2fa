"""The example of kernels compiled by Numba: which calls it takes, and what they compute."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import dovetail
from dovetail.nn import functional as F

pytest.importorskip("numba", reason="the kernels are compiled by Numba")

pytestmark = pytest.mark.cpu_only(reason="the kernels are for arrays of NumPy")


@contextmanager
def in_force() -> Iterator[None]:
    """Import the example, whose kernels are in force until the end of the block."""
    module = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "numba_kernels.py"))
    try:
        yield
    finally:
        module["LIBRARY"]._destroy()


def outcome(function: Any, *shapes: tuple[int, ...], dtype: Any) -> list[Any]:
    dovetail.manual_seed(0)
    given = [dovetail.randn(*shape, dtype=dtype, requires_grad=True) for shape in shapes]
    result = function(*given)
    result.square().sum().backward()
    return [result, *[each.grad for each in given]]


CALLS = [
    (F.gelu, [(64, 80)]),
    (lambda x, w, b: F.layer_norm(x, (80,), w, b), [(8, 8, 80), (80,), (80,)]),
]


@pytest.mark.parametrize("dtype", [dovetail.float32, dovetail.float64])
@pytest.mark.parametrize(("function", "shapes"), CALLS)
def test_results_and_gradients_are_those_of_the_kernels_beneath(
    function: Any, shapes: Any, dtype: Any
) -> None:
    expected = outcome(function, *shapes, dtype=dtype)
    with in_force():
        taken = outcome(function, *shapes, dtype=dtype)
    for ours, theirs in zip(taken, expected, strict=True):
        dovetail.testing.assert_close(ours, theirs)


@pytest.mark.parametrize(
    ("x", "taken"),
    [
        (dovetail.ones(64, 64), True),
        (dovetail.ones(64, 64).t(), False),
        (dovetail.ones(128, 64)[::2], False),
        (dovetail.ones(8), False),
        (dovetail.ones(64, 64, dtype=dovetail.float16), False),
    ],
)
def test_calls_of_other_dtypes_layouts_and_sizes_are_not_taken(x: Any, taken: bool) -> None:
    with in_force():
        explanation = dovetail.explain(dovetail.ops.aten.gelu, x)
    assert [step.taken for step in explanation.chain if step.condition] == [taken]
