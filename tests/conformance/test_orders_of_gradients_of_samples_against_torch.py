"""Gradients and products of samples in `vmap` lie in memory as PyTorch's do: programs view the
gradients of a sample as one vector.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch

import dovetail

pytestmark = pytest.mark.cpu_only(reason="other libraries of arrays lay results out otherwise")

LOSSES: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "linear": (lambda lib, x, w, b: lib.nn.functional.linear(x, w, b), ((2, 3), (4, 3), (4,))),
    "linear of a vector": (lambda lib, x, w: lib.nn.functional.linear(x, w), ((3,), (4, 3))),
    "linear of many rows": (lambda lib, x, w: lib.nn.functional.linear(x, w), ((2, 5, 3), (4, 3))),
    "two layers": (lambda lib, x, w, v: (x @ w.t()).tanh() @ v.T, ((2, 3), (4, 3), (6, 4))),
    "mm": (lambda lib, x, w: x.mm(w), ((2, 3), (3, 4))),
    "mm of columns": (lambda lib, x, w: x.mm(w.t()), ((2, 3), (4, 3))),
    "addmm": (lambda lib, b, x, w: lib.addmm(b, x, w.t()), ((4,), (2, 3), (4, 3))),
    "bmm": (lambda lib, x, w: lib.bmm(x, w.mT), ((2, 5, 3), (2, 4, 3))),
    "matmul of batches": (lambda lib, x, w: x @ w.mT, ((2, 5, 3), (4, 3))),
    "conv1d": (lambda lib, x, w: lib.nn.functional.conv1d(x, w), ((2, 3, 8), (4, 3, 2))),
    "layer_norm": (lambda lib, x, w: lib.nn.functional.layer_norm(x, (3,), w), ((5, 3), (3,))),
}


def _strides(made: Any) -> list[int]:
    return [step for size, step in zip(made.shape, made.stride(), strict=True) if size > 1]


def _orders(lib: Any, name: str, seed: int, derive: Callable[..., Any]) -> list[list[int]]:
    """Return the strides of what `derive` makes of a call, some of whose arguments are batches."""
    function, shapes = LOSSES[name]
    r = random.Random(seed)
    in_dims = [r.choice([0, None]) for _ in shapes]
    in_dims[r.randrange(len(in_dims))] = 0
    arguments = [
        lib.ones((7, *shape) if dim == 0 else shape)
        for dim, shape in zip(in_dims, shapes, strict=True)
    ]
    made = lib.func.vmap(derive(lib, function, len(shapes)), tuple(in_dims))(*arguments)
    return [_strides(each) for each in (made if isinstance(made, tuple) else (made,))]


def _value(lib: Any, function: Callable[..., Any], count: int) -> Any:
    return lambda *arguments: function(lib, *arguments)


def _gradient(lib: Any, function: Callable[..., Any], count: int) -> Any:
    def loss(*arguments: Any) -> Any:
        return function(lib, *arguments).square().sum()

    return lib.func.grad(loss, tuple(range(count)))


@pytest.mark.parametrize("derive", [_value, _gradient])
@pytest.mark.parametrize("name", LOSSES)
def test_results_of_samples_lie_in_memory_as_those_of_torch(
    name: str, derive: Callable[..., Any]
) -> None:
    for seed in range(8):
        ours, theirs = (_orders(lib, name, seed, derive) for lib in (dovetail, torch))
        assert ours == theirs, seed


def test_gradients_of_a_sample_are_viewed_as_a_vector() -> None:
    weight, samples = dovetail.randn(4, 3), dovetail.randn(7, 2, 3)

    def loss(weight: Any, sample: Any) -> Any:
        return dovetail.nn.functional.linear(sample, weight).square().sum()

    made = dovetail.func.vmap(dovetail.func.grad(loss), (None, 0))(weight, samples)
    assert made.view(7, -1).shape == (7, 12)
