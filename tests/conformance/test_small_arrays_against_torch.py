"""Small arrays take ways of their own through the cpu kernels and the engine: what comes out is
what torch gives.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dovetail

torch = pytest.importorskip("torch", reason="compares with PyTorch, which is not installed")

NUMBERS = [-2.0, -0.0, 0.0, 0.5, 3.0, math.inf, -math.inf, math.nan]


def both(function: Any, *arrays: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the gradient of the first array under `function` by either library; the second array
    is the seed.
    """
    found = []
    for library in (dovetail, torch):
        x, seed = (library.tensor(array.tolist(), dtype=library.float32) for array in arrays)
        x.requires_grad_()
        function(library, x).backward(seed)
        found.append(x.grad.cpu().numpy())
    return found[0], found[1]


@pytest.mark.parametrize("special", [math.inf, -math.inf, math.nan, 1.5])
def test_relu_drops_gradients_of_any_kind_where_its_result_is_zero_and_passes_them_elsewhere(
    special: float,
) -> None:
    x = np.array([NUMBERS, NUMBERS])
    ours, theirs = both(lambda lib, x: x.relu(), x, np.full_like(x, special))
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("shape", [(3, 4), (64, 10), (40, 200), (2, 300)])
def test_softmax_of_rows_has_the_values_and_gradients_of_torch(
    name: str, shape: tuple[int, int]
) -> None:
    rng = np.random.default_rng(0)
    x, seed = rng.standard_normal(shape) * 5, rng.standard_normal(shape)
    ours, theirs = both(lambda lib, x: getattr(x, name)(1), x, seed)
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
    values = [getattr(lib.tensor(x.tolist()), name)(-1).cpu().numpy() for lib in (dovetail, torch)]
    np.testing.assert_allclose(*values, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize(
    "row", [[0.0, math.inf], [0.0, -math.inf], [math.nan, 1.0], [-math.inf, -math.inf], [1e30, 0.0]]
)
def test_softmax_of_rows_with_extreme_numbers_is_that_of_torch(name: str, row: list[float]) -> None:
    values = [
        getattr(lib.tensor([row, [1.0, 2.0]]), name)(1).cpu().numpy() for lib in (dovetail, torch)
    ]
    np.testing.assert_allclose(*values, rtol=1e-6)


@pytest.mark.parametrize("bias", [True, False])
def test_gradients_of_a_linear_layer_lie_in_memory_like_its_parameters(bias: bool) -> None:
    for library in (dovetail, torch):
        layer = library.nn.Linear(6, 4, bias=bias)
        layer(library.ones(3, 6)).sum().backward()
        assert layer.weight.grad.stride() == (6, 1)


@pytest.mark.parametrize("transposed", [False, True])
def test_the_gradient_of_a_matrix_factor_lies_in_memory_like_the_factor(transposed: bool) -> None:
    for library in (dovetail, torch):
        factor = library.ones(5, 5)
        factor = (factor.t() if transposed else factor).requires_grad_()
        library.mm(library.ones(5, 5), factor).sum().backward()
        assert factor.grad.stride() == factor.stride()


def test_a_gradient_that_became_the_leafs_own_is_nobody_elses() -> None:
    kept: list[Any] = []
    weight = dovetail.ones(3, 3, requires_grad=True)

    class Keep(dovetail.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            kept.append(grad)
            return grad.t().t()

    Keep.apply(weight).mul(dovetail.ones(3, 3)).backward(dovetail.ones(3, 3))
    weight.grad.add_(1)
    assert kept[0].tolist() == [[1.0] * 3] * 3


@pytest.mark.parametrize("step", [1, 2, 4, 8])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_negation_in_place_is_right_for_every_stride(step: int, dtype: str) -> None:
    for library in (dovetail, torch):
        x = library.arange(1, 65, dtype=getattr(library, dtype))
        x[::step].neg_()
        assert x[::step].tolist() == [-number for number in range(1, 65, step)]
