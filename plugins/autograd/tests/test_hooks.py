"""Hooks on tensors and nodes, retained gradients, hooks over several tensors."""

from __future__ import annotations

import numpy as np
import pytest
from small_library import needs_base, tensor

import dovetail_autograd as autograd
from dovetail_autograd.graph import engine_ops
from dovetail_dispatcher import ops
from dovetail_kernel import float64, wrap

mul, add = ops.aten.mul.Tensor, ops.aten.add.Tensor
total = ops.aten.sum.default


def test_a_tensor_hook_may_replace_the_gradient():
    x = tensor([1.0], True)
    y = mul(x, x)
    y.register_hook(lambda grad: add(grad, grad))
    total(y).backward()
    assert x.grad.array.tolist() == [4.0]


def test_a_removed_hook_does_not_run():
    x = tensor([1.0], True)
    y = mul(x, x)
    handle = y.register_hook(lambda grad: add(grad, grad))
    handle.remove()
    total(y).backward()
    assert x.grad.array.tolist() == [2.0]


def test_a_hook_of_a_block_is_removed_behind_it():
    x = tensor([1.0], True)
    y = mul(x, x)
    with y.register_hook(lambda grad: add(grad, grad)):
        total(y).backward(retain_graph=True)
    total(y).backward()
    assert x.grad.array.tolist() == [6.0]


def test_hooks_run_in_the_order_tensor_retained_before_after():
    x = tensor([1.0], True)
    y = mul(x, x)
    order = []
    y.retain_grad()
    y.grad_fn.register_prehook(lambda grads: order.append(("before", y.grad.array.item())))
    y.grad_fn.register_hook(lambda *_: order.append("after"))
    y.register_hook(lambda grad: (order.append("tensor"), add(grad, grad))[1])
    total(y).backward()
    assert order == ["tensor", ("before", 2.0), "after"]


def test_a_hook_that_returns_no_tensor_is_refused():
    x = tensor([1.0], True)
    y = mul(x, x)
    y.register_hook(lambda grad: 3)
    with pytest.raises(TypeError, match="expected Variable, but hook returned 'int'"):
        total(y).backward()


def test_a_hook_that_changes_the_shape_is_refused():
    x = tensor([1.0], True)
    y = mul(x, x)
    y.register_hook(lambda grad: tensor([1.0, 2.0]))
    with pytest.raises(RuntimeError, match="hook '<lambda>' has changed the size of value"):
        total(y).backward()


def test_a_node_hook_with_too_many_values_is_refused():
    x = tensor([1.0], True)
    y = mul(x, x)
    y.grad_fn.register_hook(lambda grads, _: (*grads, None))
    message = (
        r"hook '<lambda>' has returned an incorrect number of values \(got 3, but expected 2\)"
    )
    with pytest.raises(RuntimeError, match=message):
        total(y).backward()


def test_a_hook_needs_a_tensor_that_requires_grad():
    with pytest.raises(
        RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"
    ):
        tensor([1.0]).register_hook(print)


def test_a_leaf_hook_outlives_the_accumulator():
    x = tensor([1.0], True)
    x.register_hook(lambda grad: add(grad, grad))
    for _ in range(2):
        total(mul(x, x)).backward()
    assert x.grad.array.tolist() == [8.0]


def test_a_leaf_hook_runs_under_grad():
    x = tensor([1.0], True)
    x.register_hook(lambda grad: add(grad, grad))
    (grad,) = autograd.grad(total(mul(x, x)), x)
    assert grad.array.tolist() == [4.0]


def test_post_accumulate_hooks_see_the_finished_gradient():
    x = tensor([1.0], True)
    seen = []
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad.array.item()))
    total(mul(x, x)).backward()
    assert seen == [2.0]


def test_post_accumulate_hooks_are_for_leaves():
    x = tensor([1.0], True)
    with pytest.raises(
        RuntimeError, match="post accumulate grad hooks cannot be registered on non-leaf tensors"
    ):
        mul(x, x).register_post_accumulate_grad_hook(print)


def test_old_hooks_stay_on_the_old_node_while_retained_gradients_move():
    x = tensor([1.0, 1.0], True)
    y = mul(x, tensor([2.0, 2.0]))
    seen = []
    y.register_hook(lambda grad: seen.append(("old", grad.array.tolist())))
    y.retain_grad()
    ops.aten.mul_.Tensor(y, tensor([3.0, 3.0]))
    y.register_hook(lambda grad: seen.append(("new", grad.array.tolist())))
    total(y).backward()
    assert seen == [("new", [1.0, 1.0]), ("old", [3.0, 3.0])]
    assert y.grad.array.tolist() == [1.0, 1.0]


def test_a_hook_on_all_of_several_tensors_runs_once_with_all_gradients():
    x, y, unused = tensor([1.0], True), tensor([2.0], True), tensor([3.0], True)
    seen = []
    autograd.register_multi_grad_hook([x, y, unused], seen.append)
    total(mul(x, y)).backward()
    assert [[None if g is None else g.array.item() for g in grads] for grads in seen] == [
        [2.0, 1.0, None]
    ]


def test_a_hook_on_any_of_several_tensors_runs_with_the_first_gradient():
    x, y = tensor([1.0], True), tensor([2.0], True)
    seen = []
    autograd.register_multi_grad_hook([x, y], seen.append, mode="any")
    total(mul(x, y)).backward()
    assert len(seen) == 1


def test_a_hook_on_several_tensors_knows_two_modes():
    with pytest.raises(ValueError, match=r"Expects mode to be one of \('all', 'any'\) but got x"):
        autograd.register_multi_grad_hook([], print, mode="x")


def test_a_gradient_edge_stands_for_its_tensor():
    x = tensor([3.0], True)
    y = total(mul(x, x))
    edge = autograd.get_gradient_edge(y)
    assert autograd.grad(edge, autograd.get_gradient_edge(x))[0].array.tolist() == [6.0]


def test_saved_tensor_hooks_pack_and_unpack():
    x = tensor([3.0], True)
    packed = []

    def pack(saved):
        packed.append(saved)
        return len(packed) - 1

    with autograd.saved_tensors_hooks(pack, lambda index: packed[index]):
        y = mul(x, x)
    total(y).backward()
    assert len(packed) == 2
    assert x.grad.array.tolist() == [6.0]


def test_unpacking_has_to_give_a_tensor():
    x = tensor([3.0], True)
    with autograd.saved_tensors_hooks(lambda saved: saved, lambda saved: 3):
        y = mul(x, x)
    with pytest.raises(
        TypeError,
        match="Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
        "int",
    ):
        total(y).backward()


def test_a_pack_hook_may_not_write():
    x = mul(tensor([3.0], True), tensor([1.0]))
    one = tensor([1.0])
    with (
        autograd.saved_tensors_hooks(
            lambda saved: ops.aten.add_.Tensor(saved, one), lambda saved: saved
        ),
        pytest.raises(
            RuntimeError, match="A saved tensor pack hook is modifying its input in place"
        ),
    ):
        mul(x, x)


def test_saved_tensor_hooks_can_be_refused():
    with (
        autograd.disable_saved_tensors_hooks("not here"),
        pytest.raises(RuntimeError, match="not here"),
    ):
        autograd.saved_tensors_hooks(lambda saved: saved, lambda saved: saved).__enter__()


def test_a_raw_saved_tensor_takes_one_pair_of_hooks():
    x = tensor([3.0], True)
    y = mul(x, x)
    y.grad_fn._raw_saved_self.register_hooks(
        lambda saved: saved.array.copy(), lambda array: tensor(array * 10)
    )
    with pytest.raises(
        RuntimeError,
        match="Calling register_hooks on a saved tensor whose hooks have already been set",
    ):
        y.grad_fn._raw_saved_self.register_hooks(lambda saved: saved, lambda saved: saved)
    total(y).backward()
    assert x.grad.array.tolist() == [33.0]


@needs_base
def test_hooks_pack_and_unpack_each_tensor_of_a_list():
    x = tensor([1.0, 2.0, 3.0], True)
    first, last = (wrap(np.array([place]), x._backend) for place in (0, 2))
    unpacked = []

    def unpack(packed):
        unpacked.append(packed)
        return last

    with autograd.saved_tensors_hooks(lambda saved: "packed", unpack):
        y = ops.aten.index.Tensor(x, [first])
    total(y).backward()
    assert unpacked == ["packed"]
    assert x.grad.array.tolist() == [0.0, 0.0, 1.0]  # of what `unpack` gave


@needs_base
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_what_is_saved_on_the_cpu_goes_back_to_its_device(device, monkeypatch):
    moved = []

    def move(moving, to):
        moved.append(str(to))
        return moving  # as elements of meta tensors cannot leave

    monkeypatch.setattr(engine_ops, "move", move)
    x = ops.aten.to.device(tensor([3.0]), device, float64).requires_grad_()
    with autograd.save_on_cpu():
        y = mul(x, x)
    assert moved == (["cpu", "cpu"] if device == "meta" else [])
    total(y).backward()
    assert moved == (["cpu", "cpu", "meta", "meta"] if device == "meta" else [])
