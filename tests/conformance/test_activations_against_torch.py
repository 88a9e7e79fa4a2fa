"""Activations and softmax: values and gradients at the edges, of empty tensors and of rows, as in
PyTorch.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from same_programs import Programs, assert_same, tried

import dovetail

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


PROGRAMS = Programs(
    {
        "the shape of prelu's gradients follows the incoming one": lambda lib: (
            lib.ops.aten._prelu_kernel_backward(lib.ones(2, 3), lib.ones(3), lib.ones(3))[1]
        )
    }
)


# Found by random programs.


@PROGRAMS("softmax of empty tensors of integers and bools")
def _(lib: Any) -> Any:
    dtypes = [lib.int64, lib.bool, lib.uint8]
    return [
        (
            tried(lambda f=f, x=x: str(f(x).dtype).rpartition(".")[2]),
            tried(lambda f=f, x=x: f(x).tolist()),
        )
        for f in (lambda x: x.softmax(0), lambda x: x.log_softmax(-1))
        for shape in ((0,), (0, 3), (2, 0))
        for x in (lib.zeros(shape, dtype=dtype) for dtype in dtypes)
    ]


def gelu_of_the_far_negative(lib: Any, size: int, infinite: bool) -> Any:
    x = lib.tensor([-float("inf") if infinite else -1e30, -6.5, -20.0] * size, requires_grad=True)
    y = lib.nn.functional.gelu(x)
    y.sum().backward()
    # PyTorch's sign of the zero below finite numbers depends on the vector unit of the processor.
    first = [str(y.tolist()[0] if infinite else abs(y.tolist()[0])), str(x.grad.tolist()[0])]
    return (
        first,
        [abs(value) < 1e-8 for value in y.tolist()[1:3]],
        [abs(value) < 1e-7 for value in x.grad.tolist()[1:3]],
    )


PROGRAMS |= {
    f"gelu of {size} numbers from {'minus infinity' if infinite else 'far below zero'}": (
        lambda lib, size=size, infinite=infinite: gelu_of_the_far_negative(lib, size, infinite)
    )
    for size in (1, 30, 20000)
    for infinite in (False, True)
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_gives_the_same_in_torch(name: str) -> None:
    assert_same(PROGRAMS[name], words=0, close=True)


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


@pytest.mark.parametrize("count", [1, 40, 70_000])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_of_the_approximated_gelu_end_where_its_argument_is_huge(
    count: int, dtype: str
) -> None:
    numbers = np.array([-1e5, -1e13, -1e18, 1e13, 1e18, -5.0, -3.0, 0.5], dtype)
    found = []
    for library in (dovetail, torch):
        x = library.from_numpy(np.tile(numbers, count)).requires_grad_()
        made = library.nn.functional.gelu(x, approximate="tanh").sum()
        (gradient,) = library.autograd.grad(made, x, create_graph=True)
        (second,) = library.autograd.grad(gradient.sum(), x)
        found.append([each.detach().cpu().numpy()[:8] for each in (gradient, second)])
    np.testing.assert_allclose(found[0][0], found[1][0], 1e-6, 1e-6)
    second = np.where(np.isnan(found[1][1]), 0, found[1][1])  # PyTorch's overflows in the end
    np.testing.assert_allclose(found[0][1], second, 1e-5, 1e-6)


@pytest.mark.parametrize(
    "name", ["elu", "celu", "selu", "hardswish", "hardtanh", "relu6", "hardshrink", "softshrink"]
)
def test_gradients_pass_where_the_argument_is_nan(name: str) -> None:
    def gradients(library: Any) -> set[str]:
        x = library.full((43,), math.nan, requires_grad=True)
        getattr(library.nn.functional, name)(x).backward(library.ones(43))
        return {f"{each:.2f}" for each in x.grad.tolist()}

    ours, theirs = gradients(dovetail), gradients(torch)
    # PyTorch has one number for elements that fill a vector, another for those that are left.
    assert len(ours) == 1 and len(theirs) == 2
    assert ours < theirs
