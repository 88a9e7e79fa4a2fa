"""Views and in-place writes: what they do to the graph, and what is refused."""

from __future__ import annotations

import pytest
from small_library import tensor

import dovetail_autograd as autograd
from dovetail_dispatcher import _scoped_library, ops
from dovetail_kernel import DispatchKey, IncludeDispatchKeyGuard

mul, add, add_, mul_ = (
    ops.aten.mul.Tensor,
    ops.aten.add.Tensor,
    ops.aten.add_.Tensor,
    ops.aten.mul_.Tensor,
)
select, unbind = ops.aten.select.int, ops.aten.unbind.int
total = ops.aten.sum.default
one = tensor([1.0])


def test_a_leaf_that_requires_grad_may_not_be_written():
    x = tensor([1.0], True)
    with pytest.raises(
        RuntimeError,
        match="a leaf Variable that requires grad is being used in an in-place operation",
    ):
        add_(x, one)
    assert x.array.tolist() == [1.0]


def test_a_view_of_such_a_leaf_may_not_be_written():
    x = tensor([[1.0]], True)
    with pytest.raises(
        RuntimeError,
        match="a view of a leaf Variable that requires grad is being used in an in-place",
    ):
        add_(select(x, 0, 0), one)


def test_a_view_that_came_to_require_grad_itself_may_be_written_once_its_base_is_no_leaf():
    base = tensor([[1.0]])
    view, other = select(base, 0, 0), select(base, 0, 0)
    view.requires_grad_()
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        mul_(view, one)
    factor = tensor([2.0], True)
    mul_(other, factor)
    mul_(view, tensor([3.0]))
    assert base.array.tolist() == [[6.0]]
    total(base).backward()
    assert factor.grad.array.tolist() == [3.0]


def test_a_view_made_without_grad_may_not_be_written_with_it():
    y = mul(tensor([[1.0]], True), one)
    with autograd.no_grad():
        view = select(y, 0, 0)
    with pytest.raises(
        RuntimeError,
        match="A view was created in no_grad mode and is being modified inplace with grad mode",
    ):
        add_(view, one)


def test_one_of_several_views_may_not_be_written():
    y = mul(tensor([[1.0]], True), one)
    with pytest.raises(
        RuntimeError,
        match=r"Output 0 of Unbind is a view and is being modified inplace. This view is the",
    ):
        add_(unbind(y)[0], one)


def test_a_view_requires_grad_when_its_base_comes_to():
    base = tensor([[1.0]])
    view = select(base, 0, 0)
    assert not view.requires_grad
    base.requires_grad_()
    assert view.requires_grad


def test_a_view_knows_its_root():
    base = tensor([[[1.0]]])
    view = select(select(base, 0, 0), 0, 0)
    assert view._base is base
    assert not ops.aten.detach.default(base)._is_view()


@pytest.mark.parametrize("key", ["TESTING_ONLY_GenericMode", "FuncTorchDynamicLayerFrontMode"])
@pytest.mark.parametrize("requires_grad", [False, True])
def test_a_fallback_in_the_place_of_autograd_returns_no_view_that_it_did_not_make(
    key: str, requires_grad: bool
) -> None:
    made = tensor([7.0])
    with _scoped_library("_", "IMPL") as library:
        library.fallback(lambda op, *args: made, key)
        with IncludeDispatchKeyGuard(getattr(DispatchKey, key)):
            result = select(tensor([[1.0]], requires_grad), 0, 0)
    assert result is made
    assert not made._is_view() and not made.requires_grad


def test_gradients_flow_through_a_view():
    x = tensor([[1.0, 2.0], [3.0, 4.0]], True)
    row = select(x, 0, 1)
    total(mul(row, row)).backward()
    assert x.grad.array.tolist() == [[0.0, 0.0], [6.0, 8.0]]


def test_a_write_replaces_the_node():
    x = tensor([2.0], True)
    y = mul(x, one)
    mul_(y, tensor([3.0]))
    total(y).backward()
    assert x.grad.array.tolist() == [3.0]


def test_a_write_with_a_factor_that_requires_grad_uses_what_was_overwritten():
    x, w = tensor([2.0], True), tensor([3.0], True)
    y = mul(x, one)
    mul_(y, w)
    total(y).backward()
    assert (x.grad.array.tolist(), w.grad.array.tolist()) == ([3.0], [2.0])


def test_a_write_to_the_base_renews_the_node_of_a_view():
    x = tensor([[1.0], [1.0]], True)
    base = mul(x, one)
    view = select(base, 0, 1)
    before = view.grad_fn
    mul_(base, tensor([2.0]))
    assert before.name() == "SelectBackward0"
    assert view.grad_fn.name() == "AsStridedBackward0"
    assert view.grad_fn.next_functions[0][0] is base.grad_fn
    total(view).backward()
    assert x.grad.array.tolist() == [[0.0], [2.0]]


def test_a_write_to_a_view_goes_into_the_history_of_its_base():
    x = tensor([[1.0], [1.0]], True)
    base = mul(x, one)
    view = select(base, 0, 1)
    mul_(view, tensor([5.0]))
    assert base.grad_fn.name() == "dovetail::autograd::CopySlices"
    assert (base._version, view._version) == (1, 1)
    total(base).backward()
    assert x.grad.array.tolist() == [[1.0], [5.0]]


def test_a_base_comes_to_require_grad_by_a_write_to_its_view():
    base = tensor([[1.0], [2.0]])
    w = tensor([3.0], True)
    mul_(select(base, 0, 1), w)
    assert base.requires_grad
    total(base).backward()
    assert w.grad.array.tolist() == [2.0]


def test_writes_to_a_view_and_its_base_compose():
    x = tensor([[1.0], [1.0]], True)
    base = mul(x, one)
    view = select(base, 0, 1)
    mul_(base, tensor([2.0]))
    mul_(view, tensor([5.0]))
    total(base).backward()
    assert x.grad.array.tolist() == [[2.0], [10.0]]


def test_a_tensor_keeps_its_requires_grad_in_no_grad_mode():
    x = tensor([1.0], True)
    with autograd.no_grad():
        add_(x, one)
    assert x.requires_grad
    assert x.array.tolist() == [2.0]


def test_detach_shares_the_version():
    x = tensor([1.0], True)
    y = mul(x, one)
    z = mul(y, y)
    add_(ops.aten.detach.default(y), one)
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        total(z).backward()


def test_all_tensors_that_an_operator_without_derivative_writes_are_looked_at():
    with _scoped_library("writing", "DEF") as lib:
        lib.define("w(Tensor(a!)? x, Tensor(b!)[] ys) -> ()")
        lib.impl("w", lambda x, ys: None, "CPU")
        leaf, made = tensor([1.0], True), mul(tensor([1.0], True), one)
        for arguments in ((None, [leaf]), (made, [one, leaf]), (leaf, [])):
            with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
                ops.writing.w(*arguments)
        ops.writing.w(None, [made])
        with autograd.no_grad():
            ops.writing.w(leaf, [leaf])


@pytest.mark.parametrize(
    "read", [lambda y: y, lambda y: ops.aten.view.default(y, [2])], ids=["itself", "a view"]
)
def test_a_write_that_reads_what_it_writes_is_refused_by_backward(read):
    y = mul(tensor([1.0, 2.0], True), one)
    mul_(y, read(y))
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        total(y).backward()


def test_hooks_are_not_given_what_was_overwritten():
    with autograd.saved_tensors_hooks(lambda x: x, lambda x: x):
        y = mul(tensor([1.0, 2.0], True), one)
        with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
            mul_(y, y)
