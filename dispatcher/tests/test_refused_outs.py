"""Tensors of `out=` that an operator refuses, as its declaration says; and the way between
backends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from dovetail_dispatcher import Library, ops
from dovetail_dispatcher.calls.arrays.array_writes import copy_between_backends
from dovetail_dispatcher.table.updates.changes import Change, open_transaction, take_back
from dovetail_dispatcher.table.updates.definitions import define_many
from dovetail_kernel import TensorBase, backend, share_storage, wrap

Tensors = Callable[..., TensorBase]
SHARED = "some elements of the input tensor and the written-to tensor refer to a single memory"


@pytest.fixture
def declare(library: Callable[..., Library]) -> Iterator[Callable[..., Any]]:
    """Declares ``ro::f.out``, which refuses tensors of ``out=`` by some words."""
    undos: list[Change] = []

    def make(*refuses: str) -> Any:
        text = "ro::f.out(Tensor x, Tensor[] more, *, Tensor(a!) out) -> Tensor(a!)"
        open_transaction.set(undos)
        define_many([(text, "other", "none", (), refuses, "", (), None, "ro.yaml", 1)], "here")
        open_transaction.set(None)
        library("ro", "FRAGMENT").array_impl("f.out", lambda x, more: x * 2, "CPU")
        return ops.ro.f.out

    yield make
    take_back(undos)


@pytest.fixture
def view() -> Callable[..., TensorBase]:
    """Makes tensors that show a part of the memory of another."""

    def make(of: TensorBase, part: Any) -> TensorBase:
        made = wrap(of.array[part], backend("cpu"))
        made._storage = share_storage(of)
        return made

    return make


def test_an_out_of_another_dtype_is_refused_where_it_is_to_be_the_same(
    declare: Callable[..., Any], tensor: Tensors
) -> None:
    f = declare("other_out")
    other, same = tensor([0.0], "float64"), tensor([0.0])
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype float, but got doub"):
        f(tensor([1.0]), [], out=other)
    assert f(tensor([1.0]), [], out=same) is same and same.array.tolist() == [2.0]


def test_an_operator_that_refuses_nothing_may_write_to_what_it_reads(
    declare: Callable[..., Any], tensor: Tensors, view: Any
) -> None:
    f = declare()
    x = tensor([1.0, 2.0, 3.0])
    f(x, [], out=x)
    assert x.array.tolist() == [2.0, 4.0, 6.0]
    f(view(x, slice(0, 2)), [], out=view(x, slice(1, 3)))
    assert x.array.tolist() == [2.0, 4.0, 8.0]


def test_an_out_that_lies_over_a_part_of_an_operand_is_refused(
    declare: Callable[..., Any], tensor: Tensors, view: Any
) -> None:
    f = declare("partial_out")
    x = tensor([1.0, 2.0, 3.0, 4.0])
    for out in (slice(1, 3), slice(0, 4, 2)):
        with pytest.raises(RuntimeError, match=SHARED):
            f(view(x, slice(0, 2)), [], out=view(x, out))
    assert x.array.tolist() == [1.0, 2.0, 3.0, 4.0]
    f(view(x, slice(0, 2)), [], out=view(x, slice(2, 4)))  # beside it
    f(view(x, slice(0, 2)), [], out=view(x, slice(0, 2)))  # the very elements
    assert x.array.tolist() == [2.0, 4.0, 2.0, 4.0]


def test_an_out_of_another_shape_is_refused_where_it_is_an_operand(
    declare: Callable[..., Any], tensor: Tensors
) -> None:
    f = declare("partial_out")
    longer = tensor([1.0, 2.0, 3.0])
    with pytest.raises(RuntimeError, match=SHARED):
        f(tensor([1.0]), [tensor([1.0]), longer], out=longer)
    assert longer.array.tolist() == [1.0, 2.0, 3.0]


def test_an_out_that_is_or_shows_an_operand_is_refused_where_none_may_be_shared(
    declare: Callable[..., Any], tensor: Tensors, view: Any
) -> None:
    f = declare("shared_out")
    x = tensor([1.0, 2.0])
    with pytest.raises(RuntimeError, match=SHARED):
        f(x, [], out=x)
    one, none = tensor([1.0]), tensor(np.zeros(0, "float32"))
    with pytest.raises(RuntimeError, match=SHARED):
        f(one, [], out=one)
    assert f(none, [], out=none) is none  # without elements nothing is shared
    with pytest.raises(RuntimeError, match=SHARED):
        f(tensor([1.0, 1.0]), [tensor([1.0]), x], out=x)
    with pytest.raises(RuntimeError, match=SHARED):
        f(view(x, slice(None)), [], out=view(x, slice(None)))
    expanded = wrap(np.broadcast_to(np.zeros(1, "float32"), (2,)), backend("cpu"))
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        f(expanded, [], out=expanded)
    assert x.array.tolist() == [1.0, 2.0]
    f(view(x, slice(0, 1)), [], out=view(x, slice(1, 2)))
    assert x.array.tolist() == [1.0, 2.0]
    empty = tensor(np.zeros(0, "float32"))
    f(empty, [], out=empty)


# -- between backends ------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_elements_go_from_one_backend_to_another_and_are_cast(tensor: Tensors, dtype: str) -> None:
    target, source = tensor([[0.0, 0.0], [0.0, 0.0]], dtype), tensor([1.5, 2.5])
    copy_between_backends(target, source)
    assert target.array.tolist() == np.array([[1.5, 2.5]] * 2).astype(dtype).tolist()
    assert source.array.tolist() == [1.5, 2.5]
    with pytest.raises(RuntimeError, match=r"output with shape \[2\] doesn't match the broadcast"):
        copy_between_backends(tensor([0.0, 0.0]), tensor([[1.0, 1.0]] * 3))
    meta = tensor([0.0], device="meta")
    with pytest.raises((NotImplementedError, RuntimeError), match=r"meta|data"):
        copy_between_backends(tensor([0.0]), meta)
