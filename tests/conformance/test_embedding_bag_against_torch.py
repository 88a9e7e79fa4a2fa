"""Bags of rows, with every mode and option, are PyTorch's: values and gradients."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import dovetail

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

ROWS = [[0.5, -1.0, 2.0], [3.0, 0.25, -2.0], [1.5, 4.0, 0.0], [-0.5, 2.5, 1.0]]
OPTIONS = list(
    itertools.product(("sum", "mean", "max"), (None, 1, -1), (False, True), (False, True))
)


@pytest.mark.parametrize(("mode", "padding", "last", "weighted"), OPTIONS)
def test_bags_and_their_gradients_are_the_same(
    mode: str, padding: int | None, last: bool, weighted: bool
) -> None:
    def gradients(library: Any) -> list[Any]:
        weight = library.tensor(ROWS, requires_grad=True)
        factors = library.tensor([1.0, 0.5, -2.0, 3.0, 1.5], requires_grad=True)
        made = library.nn.functional.embedding_bag(
            library.tensor([0, 1, 3, 2, 1]),
            weight,
            library.tensor([0, 2, 2, 5] if last else [0, 2, 2]),
            mode=mode,
            padding_idx=padding,
            include_last_offset=last,
            per_sample_weights=factors if weighted else None,
        )
        (made * made).sum().backward()
        return [made.tolist(), weight.grad.tolist(), factors.grad.tolist() if weighted else None]

    if weighted and mode != "sum":
        for library in (dovetail, torch):
            with pytest.raises(NotImplementedError, match="only supported for mode='sum'"):
                gradients(library)
        return
    ours, theirs = gradients(dovetail), gradients(torch)
    assert np.allclose(ours[0], theirs[0], 1e-6, 1e-6)
    assert np.allclose(ours[1], theirs[1], 1e-6, 1e-6)
    assert ours[2] is theirs[2] or np.allclose(ours[2], theirs[2], 1e-6, 1e-6)


def test_frequencies_divide_gradients_as_there() -> None:
    found = []
    for library in (dovetail, torch):
        weight = library.tensor(ROWS, requires_grad=True)
        library.nn.functional.embedding_bag(
            library.tensor([[0, 1], [1, 1]]), weight, scale_grad_by_freq=True, mode="sum"
        ).sum().backward()
        found.append(weight.grad.tolist())
    assert found[0] == found[1]


NAN, INF = float("nan"), float("inf")

EQUAL = {
    "equal rows": [[1, 2], [1, 3], [1, 3], [0, 2]],
    "NaN first and later": [[1, NAN], [NAN, 3], [NAN, -INF], [NAN, -INF]],
    "infinities": [[-INF, NAN], [-INF, 3], [2, -INF], [1, -INF]],
}


@pytest.mark.parametrize("padding", [None, 0, 3])
@pytest.mark.parametrize("rows", EQUAL)
def test_the_first_of_the_greatest_elements_has_the_gradient(
    rows: str, padding: int | None
) -> None:
    def found(library: Any, name: str) -> list[Any]:
        weight = library.tensor(EQUAL[rows], dtype=getattr(library, name), requires_grad=True)
        made = library.embedding_bag(
            weight,
            library.tensor([0, 1, 2, 3]),
            library.tensor([0, 2, 4]),
            False,
            2,
            False,
            None,
            False,
            padding,
        )
        made[0].sum().backward()
        return [str(each.tolist()) for each in (*made, weight.grad)]

    for name in ("float32", "float64", "float16", "bfloat16"):
        assert found(dovetail, name) == found(torch, name)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("index", [-1, 4])
def test_an_index_out_of_range_is_a_runtime_error(mode: str, index: int) -> None:
    for library in (dovetail, torch):
        with pytest.raises(RuntimeError, match=f"{index}"):
            library.nn.functional.embedding_bag(
                library.tensor([[index, 2]]), library.zeros(4, 3), mode=mode
            )
