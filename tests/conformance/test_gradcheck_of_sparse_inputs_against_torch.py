"""`gradcheck` of functions of sparse tensors: it compares the gradients of stored elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import dovetail

pytestmark = pytest.mark.filterwarnings("ignore:Sparse CSR tensor support", "ignore:Sparse invari")


def _eye(lib: Any) -> Any:
    return lib.eye(3, dtype=lib.float64).to_sparse().requires_grad_()


def _sparse(lib: Any, indices: Any, values: Any, size: Any) -> Any:
    stored = lib.tensor(values, dtype=lib.float64)
    return lib.sparse_coo_tensor(lib.tensor(indices), stored, size).requires_grad_()


INPUTS: dict[str, Callable[[Any], Any]] = {
    "a diagonal": _eye,
    "one element": lambda lib: lib.ones(1, 1, dtype=lib.float64).to_sparse().requires_grad_(),
    "a matrix": lambda lib: _sparse(lib, [[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3)),
    "indices that occur twice": lambda lib: _sparse(lib, [[0, 0], [1, 1]], [1.0, 2.0], (2, 2)),
    "rows": lambda lib: _sparse(lib, [[0, 1]], [[1.0, 2.0], [3.0, 4.0]], (3, 2)),
    "csr": lambda lib: lib.eye(3, dtype=lib.float64).to_sparse_csr().requires_grad_(),
}


def _checked(lib: Any, *args: Any, **kwargs: Any) -> Any:
    try:
        return lib.autograd.gradcheck(*args, **kwargs)
    except (RuntimeError, ValueError) as error:
        return type(error).__name__


@pytest.mark.parametrize("is_fast", (True, False))
@pytest.mark.parametrize("name", INPUTS)
def test_gradients_of_stored_elements(name: str, is_fast: bool) -> None:
    for lib in (dovetail, torch):
        given = (INPUTS[name](lib),)
        assert _checked(lib, lambda x: x.to_dense(), given, masked=True, fast_mode=is_fast) is True


@pytest.mark.parametrize(
    "name", [each for each in INPUTS if each != "one element"]
)  # nothing of it is zero
def test_gradients_of_all_elements_are_others(name: str) -> None:
    for lib in (dovetail, torch):
        found = _checked(lib, lambda x: x.to_dense(), (INPUTS[name](lib),), masked=False)
        assert found == "GradcheckError"


@pytest.mark.parametrize("masked", (True, False))
def test_products_with_a_matrix(masked: bool) -> None:
    found, expected = [
        _checked(
            lib,
            lib.sparse.mm,
            (_eye(lib), lib.ones(3, 2, dtype=lib.float64, requires_grad=True)),
            masked=masked,
        )
        for lib in (dovetail, torch)
    ]
    assert found == expected


def test_a_wrong_gradient_is_found() -> None:
    found = []
    for lib in (dovetail, torch):

        class Wrong(lib.autograd.Function):  # type: ignore[misc]
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 2

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                return grad * 3

        def wrong(x: Any, wrong: Any = Wrong) -> Any:
            return wrong.apply(x.to_dense())

        found.append(_checked(lib, wrong, (_eye(lib),), masked=True))
        found.append(_checked(lib, wrong, (_eye(lib),), masked=True, raise_exception=False))
    assert found == ["GradcheckError", False] * 2


def test_sparse_results_are_refused_and_second_derivatives_compared() -> None:
    for lib in (dovetail, torch):
        dense = lib.ones(2, 2, dtype=lib.float64, requires_grad=True)
        assert _checked(lib, lambda x: x.to_sparse(), (dense,), masked=True) == "ValueError"
    assert dovetail.autograd.gradgradcheck(lambda x: x.to_dense() ** 3, (_eye(dovetail),))
