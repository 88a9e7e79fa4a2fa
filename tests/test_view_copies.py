"""Operators that copy what a view operator shows, and functions that return several tensors."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import dovetail
from dovetail import Tensor
from dovetail.nn import functional as F


def test_a_copy_shares_no_memory_and_lies_in_c_order() -> None:
    x = dovetail.arange(6).reshape(2, 3)
    copy = dovetail.permute_copy(x, (1, 0))
    copy.zero_()
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert copy.stride() == (2, 1)


def test_a_copy_of_a_view_that_is_impossible_is_made() -> None:
    x = dovetail.arange(6).reshape(2, 3).t()
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        x.view(6)
    assert dovetail.view_copy(x, (6,)).tolist() == [0, 3, 1, 4, 2, 5]


def test_a_copy_is_differentiated_by_the_formula_of_its_view() -> None:
    x = dovetail.ones(2, 3, requires_grad=True)
    first, _ = dovetail.unbind_copy(x)
    assert first.grad_fn.name() == "UnbindBackward0_copy"
    first.sum().backward()
    assert x.grad.tolist() == [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]


def test_the_out_variant_of_a_composite_writes_what_the_composite_returns() -> None:
    x, out = dovetail.ones(2, 3), dovetail.empty(0)
    version = out._version
    assert dovetail.t_copy(x, out=out) is out
    assert out.shape == (3, 2)
    assert out._version == version + 1


def test_the_out_variant_of_a_composite_refuses_what_requires_grad() -> None:
    x = dovetail.ones(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        dovetail.t_copy(x, out=dovetail.empty(0))


def test_the_out_variant_of_a_composite_refuses_a_dtype_that_cannot_hold_the_result() -> None:
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type"):
        dovetail.t_copy(dovetail.ones(2, 3), out=dovetail.empty(0, dtype=dovetail.int64))


def test_functions_and_methods_return_tuples_of_tensors_and_operators_lists() -> None:
    x = dovetail.arange(6).reshape(2, 3)
    for function, args in (
        (dovetail.unbind, ()),
        (dovetail.chunk, (2,)),
        (dovetail.split, (1,)),
        (dovetail.split, ((1, 1),)),
        (dovetail.split_with_sizes, ((1, 1),)),
    ):
        for made in (function(x, *args), getattr(x, function.__name__)(*args)):
            assert type(made) is tuple
    assert type(dovetail.split(x, split_size=1)) is tuple  # the way of a call that is bound fully
    for operator, args in (
        (dovetail.ops.aten.unbind.int, ()),
        (dovetail.ops.aten.split.Tensor, (1,)),
        (dovetail.ops.aten.chunk, (2,)),
    ):
        assert type(operator(x, *args)) is list


def test_what_an_overriding_class_returns_stays_as_it_is() -> None:
    class Own:
        @classmethod
        def __torch_function__(cls, func: object, types: object, args=(), kwargs=None) -> list[int]:
            return [1, 2]

    assert dovetail.unbind(Own()) == [1, 2]


@pytest.mark.parametrize(
    "unchanged",
    [
        lambda x: F.pad(x, (0, 0), "reflect"),
        lambda x: F.pad(x, (0, 0), "replicate"),
        lambda x: F.pad(x, (0, 0), "circular"),
        lambda x: F.pad(x, (0, 0)),
        dovetail.chain_matmul,
    ],
    ids=["reflect", "replicate", "circular", "constant", "chain_matmul"],
)
def test_what_has_nothing_to_do_returns_a_copy(unchanged: Callable[[Tensor], Tensor]) -> None:
    x = dovetail.ones(2, 3)
    unchanged(x).zero_()
    assert x.tolist() == [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
