"""Reductions, sums along a dimension and choices of the greatest: their dtypes, what they do with
nothing, and where their gradients go, as in PyTorch.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from same_programs import Programs, assert_same

import dovetail


def nan_into_max(lib: Any) -> Any:
    x = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x.max().backward(lib.tensor(float("nan")))
    return x.grad


def no_gradient_for_several_results(lib: Any) -> Any:
    class Nothing(lib.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return None

    x = lib.ones(2, 3, requires_grad=True)
    values, _ = x.min(1)
    (Nothing.apply(values).sum() + x.sum()).backward()
    return x.grad


PROGRAMS = Programs(
    {
        "norm has defaults": lambda lib: lib.norm(lib.ones(2, 3), dim=1),
        "a NaN that comes into max reaches the greatest alone": nan_into_max,
        "no gradient for several results": no_gradient_for_several_results,
        "argmax of bools": lambda lib: lib.tensor([True]).argmax(),
        "topk of bools": lambda lib: lib.tensor([True]).topk(1)[0],
        "a sum of integers written in place": lambda lib: lib.arange(3).cumsum_(
            0, dtype=lib.float32
        ),
        "the mean of integers": lambda lib: lib.arange(3).mean(),
        "the variance of nothing": lambda lib: lib.zeros(2, 0).var(1, correction=-1),
        "the deviation of nothing": lambda lib: lib.zeros(0).std(correction=-2.5),
        "reductions over nothing: max": lambda lib: lib.zeros(0).max(),
        "reductions over nothing: argmax": lambda lib: lib.zeros(0).argmax(),
        "reductions over nothing: amax": lambda lib: lib.zeros(2, 0).amax(1),
        "reductions over nothing: mean": lambda lib: lib.zeros(0).mean(),
        "reductions over nothing: prod": lambda lib: lib.zeros(0).prod(),
    }
)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_gives_the_same_in_torch(name: str) -> None:
    assert_same(PROGRAMS[name], words=0, close=True)


@pytest.mark.parametrize("order", [0.5, 2, 3, -2])
@pytest.mark.parametrize(
    ("shape", "dim"), [((), None), ((1,), None), ((2, 1), 1), ((20000, 1), 1), ((1, 1), (0, 1))]
)
def test_the_norm_of_one_number_is_its_size_even_where_its_power_is_infinite(
    shape: tuple[int, ...], dim: Any, order: float
) -> None:
    ours, theirs = (
        lib.linalg.vector_norm(lib.full(shape, -1e30), order, dim) for lib in (dovetail, torch)
    )
    assert ours.tolist() == theirs.tolist()
