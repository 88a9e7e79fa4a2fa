"""Batching rules that return what does not fit: the outputs of the operator, or the batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import dovetail
from dovetail import Tensor
from dovetail.library import custom_op


@pytest.fixture
def op() -> Iterator[Any]:
    made = custom_op("vmr::f", lambda x: x * 2, mutates_args=(), schema="(Tensor x) -> Tensor")
    yield made
    made._lib._destroy()


@pytest.mark.parametrize(
    ("rule", "error", "words"),
    [
        (lambda info, dims, x: (x[:1], 0), RuntimeError, "is not the 2 entries of the batch"),
        (lambda info, dims, x: (x * 2, 1), RuntimeError, "is not the 2 entries of the batch"),
        (lambda info, dims, x: (x * 2, 9), IndexError, "Dimension out of range"),
        (lambda info, dims, x: ((x, x), (0, 0)), RuntimeError, "batching rule registered at .*:"),
        (lambda info, dims, x: ("a", 0), RuntimeError, "Unable to cast 'a' to Tensor"),
        (lambda info, dims, x: (x, 0, 0), RuntimeError, "to have two returns"),
        (lambda info, dims, x: x, RuntimeError, "to have two returns"),
        (lambda info, dims, x: (x, "a"), TypeError, "a batch dimension is an int or None"),
    ],
)
def test_a_rule_that_returns_something_else_is_refused(
    rule: Callable[..., Any], error: type[Exception], words: str, op: Any
) -> None:
    op.register_vmap(rule)
    with pytest.raises(error, match=words):
        dovetail.vmap(op)(dovetail.ones(2, 3))


@pytest.mark.parametrize("dim", [0, 1, -1, -2])
def test_a_batch_dimension_counts_from_either_end(dim: int, op: Any) -> None:
    op.register_vmap(lambda info, dims, x: (dovetail.movedim(x * 2, 0, dim), dim))
    x = dovetail.arange(6.0).reshape(2, 3)
    assert dovetail.vmap(op)(x).tolist() == (x * 2).tolist()


def test_a_function_whose_rule_loses_the_batch_is_refused() -> None:
    class Twice(dovetail.autograd.Function):
        @staticmethod
        def forward(x: Tensor) -> Tensor:
            return x * 2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None: ...

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Tensor) -> Any:
            return (x * 2).sum(0, keepdim=True), 0

    with pytest.raises(RuntimeError, match="is not the 2 entries of the batch"):
        dovetail.vmap(Twice.apply)(dovetail.ones(2, 3))
