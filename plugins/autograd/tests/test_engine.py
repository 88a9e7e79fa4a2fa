"""Backward through recorded calls: order, accumulation, freeing, pruning, validation."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest
from small_library import tensor

import dovetail_autograd as autograd
from dovetail_autograd import Function
from dovetail_dispatcher import ops
from dovetail_kernel import replace_array

mul, add, exp = ops.aten.mul.Tensor, ops.aten.add.Tensor, ops.aten.exp.default
total = ops.aten.sum.default


def test_the_gradient_of_a_product_is_the_other_factor():
    x, y = tensor([2.0, 3.0], True), tensor([5.0, 7.0], True)
    total(mul(x, y)).backward()
    assert x.grad.array.tolist() == [5.0, 7.0]
    assert y.grad.array.tolist() == [2.0, 3.0]


def test_a_result_that_was_saved_is_used_in_backward():
    x = tensor([0.0, 1.0], True)
    total(exp(x)).backward()
    np.testing.assert_allclose(x.grad.array, np.exp([0.0, 1.0]), rtol=1e-6)


def test_broadcast_gradients_are_summed_to_the_shape_of_the_input():
    x, y = tensor([[1.0], [2.0]], True), tensor([1.0, 2.0, 3.0], True)
    total(mul(x, y)).backward()
    assert x.grad.array.tolist() == [[6.0], [6.0]]
    assert y.grad.array.tolist() == [3.0, 3.0, 3.0]


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_gradient_that_does_not_fit_the_gradient_there_is_is_refused(create_graph):
    x = tensor([1.0, 2.0])
    x.grad = tensor([3.0, 4.0])
    replace_array(x, np.ones((2, 2), "float32"))
    x.requires_grad_()
    if create_graph:  # adds to a new tensor
        total(x).backward(create_graph=True)
        assert x.grad.array.tolist() == [[4.0, 5.0], [4.0, 5.0]]
        return
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        total(x).backward()
    assert x.grad.array.tolist() == [3.0, 4.0]


def test_fan_in_adds_in_the_order_in_which_nodes_run():
    x = tensor([1.0], True)
    y = mul(x, tensor([1.0]))
    a, b, c = (mul(y, tensor([factor])) for factor in (1e8, 1.0, -1e8))
    total(add(add(a, b), c)).backward()
    assert x.grad.array.tolist() == [0.0]


def test_the_latest_call_runs_first_and_a_leaf_at_once():
    order = []
    x, y = tensor([1.0], True), tensor([1.0], True)
    x.register_hook(lambda grad: order.append("x"))
    first = mul(x, tensor([2.0]))
    second = mul(y, tensor([2.0]))
    y.register_hook(lambda grad: order.append("y"))
    first.grad_fn.register_hook(lambda *_: order.append("first"))
    second.grad_fn.register_hook(lambda *_: order.append("second"))
    total(add(first, second)).backward()
    assert order == ["second", "y", "first", "x"]


def test_saved_values_are_freed_after_backward():
    x = tensor([1.0], True)
    y = total(mul(x, x))
    y.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()


def test_retain_graph_keeps_saved_values():
    x = tensor([3.0], True)
    y = total(mul(x, x))
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.array.tolist() == [12.0]


def test_a_graph_without_saved_values_may_run_twice():
    x = tensor([3.0], True)
    y = total(add(x, x))
    y.backward()
    y.backward()
    assert x.grad.array.tolist() == [4.0]


def test_an_in_place_write_to_a_saved_input_is_found():
    x = tensor([1.0, 2.0], True)
    y = mul(x, tensor([1.0, 1.0]))
    z = mul(y, y)
    ops.aten.add_.Tensor(y, tensor([1.0, 1.0]))
    message = (
        r"modified by an inplace operation: \[dovetail.FloatTensor \[2\]\], which is output 0 of "
        r"Add, is at version 1; "
        "expected version 0 instead. Hint: enable anomaly detection"
    )
    with pytest.raises(RuntimeError, match=message):
        total(z).backward()


def test_an_in_place_write_to_a_saved_result_is_found():
    x = tensor([1.0], True)
    y = exp(x)
    ops.aten.add_.Tensor(y, tensor([1.0]))
    with pytest.raises(RuntimeError, match="output 0 of Exp, is at version 1"):
        total(y).backward()


def test_grad_returns_gradients_and_leaves_grad_alone():
    x, y = tensor([2.0], True), tensor([5.0], True)
    gx, gy = autograd.grad(total(mul(x, y)), (x, y))
    assert (gx.array.tolist(), gy.array.tolist()) == ([5.0], [2.0])
    assert x.grad is None


def test_grad_of_a_non_leaf_stops_there():
    x = tensor([2.0], True)
    y = mul(x, x)
    ran = []
    y.grad_fn.register_hook(lambda *_: ran.append("node"))
    y.register_hook(lambda grad: ran.append("tensor"))
    (gy,) = autograd.grad(total(mul(y, y)), y)
    assert gy.array.tolist() == [8.0]
    assert ran == ["tensor"]


def test_an_unused_input_is_an_error_unless_allowed():
    x, y = tensor([2.0], True), tensor([5.0], True)
    with pytest.raises(
        RuntimeError,
        match=r"index 1 appears to not have been used in the graph. Set allow_unused=True",
    ):
        autograd.grad(total(mul(x, x)), (x, y))
    assert autograd.grad(total(mul(x, x)), (x, y), allow_unused=True)[1] is None
    zeros = autograd.grad(total(mul(x, x)), (x, y), materialize_grads=True)[1]
    assert zeros.array.tolist() == [0.0]


def test_inputs_limit_backward_to_their_leaves():
    x, y = tensor([2.0], True), tensor([5.0], True)
    total(mul(x, y)).backward(inputs=[x])
    assert x.grad.array.tolist() == [5.0]
    assert y.grad is None


def test_a_non_leaf_in_inputs_gets_its_gradient():
    x = tensor([2.0], True)
    y = mul(x, x)
    total(mul(y, y)).backward(inputs=[y])
    assert y.grad.array.tolist() == [8.0]
    assert x.grad is None


def test_only_a_scalar_begins_without_gradient():
    x = tensor([1.0, 2.0], True)
    with pytest.raises(
        RuntimeError, match="grad can be implicitly created only for scalar outputs"
    ):
        mul(x, x).backward()


def test_a_gradient_of_another_shape_is_refused():
    x = tensor([1.0, 2.0], True)
    with pytest.raises(RuntimeError, match=r"Mismatch in shape: grad_output\[0\] has a shape of"):
        mul(x, x).backward(tensor([1.0, 2.0, 3.0]))


def test_an_output_without_graph_is_refused():
    with pytest.raises(
        RuntimeError, match="element 0 of tensors does not require grad and does not have a grad_fn"
    ):
        total(tensor([1.0])).backward()


def test_gradients_accumulate_in_place():
    x = tensor([1.0], True)
    total(mul(x, tensor([2.0]))).backward()
    first = x.grad
    total(mul(x, tensor([3.0]))).backward()
    assert x.grad is first
    assert first.array.tolist() == [5.0]
    assert first._version == 1


def test_a_gradient_that_is_held_elsewhere_is_copied():
    x, g = tensor([1.0, 1.0], True), tensor([1.0, 1.0])
    x.backward(g)
    assert x.grad.array is not g.array
    add(x, tensor([0.0, 0.0])).backward(g)
    assert g.array.tolist() == [1.0, 1.0]
    assert x.grad.array.tolist() == [2.0, 2.0]


def test_a_gradient_that_is_held_nowhere_else_becomes_grad_as_it_is(monkeypatch):
    made = []
    x = tensor(np.ones((4, 4)), True)
    y = mul(x, tensor(np.ones((4, 4))))
    node_class = type(y.grad_fn)
    body = node_class.apply_arrays

    def remember(node, kernels, edges, grad):
        grads = body(node, kernels, edges, grad)
        made.append(id(grads[0]))
        return grads

    monkeypatch.setattr(node_class, "apply_arrays", remember)
    total(y).backward()
    assert id(x.grad.array) == made[0]


def test_so_does_one_that_was_passed_on_by_a_sum(monkeypatch):
    made = []
    x = tensor(np.ones((4, 4)), True)
    y = mul(add(x, tensor(np.ones((4, 4)))), tensor(np.ones((4, 4))))
    node_class = type(y.grad_fn)
    body = node_class.apply_arrays

    def remember(node, kernels, edges, grad):
        grads = body(node, kernels, edges, grad)
        made.append(id(grads[0]))
        return grads

    monkeypatch.setattr(node_class, "apply_arrays", remember)
    total(y).backward()
    assert id(x.grad.array) == made[0]


def test_two_leaves_that_get_the_same_array_do_not_share_it():
    x, y = tensor([1.0], True), tensor([1.0], True)
    total(add(x, y)).backward()
    assert not np.shares_memory(x.grad.array, y.grad.array)


def test_an_expanded_gradient_is_materialised():
    x = tensor([1.0, 2.0, 3.0], True)
    total(x).backward()
    assert x.grad.array.strides == (4,)


def test_there_is_one_accumulator_per_leaf():
    x = tensor([1.0], True)
    a, b = mul(x, x), add(x, x)
    assert a.grad_fn.next_functions[0][0] is b.grad_fn.next_functions[1][0]
    assert a.grad_fn.next_functions[0][0].variable is x
    assert a.grad_fn.next_functions[0][0]._sequence_nr() == 2**64 - 1


def test_a_leaf_dies_with_its_last_reference():
    x = tensor([1.0], True)
    mul(x, x)
    last = weakref.ref(x)
    del x
    assert last() is None


def test_a_graph_keeps_its_leaves():
    x = tensor([1.0], True)
    y = add(x, x)
    last = weakref.ref(x)
    del x
    assert last() is y.grad_fn.next_functions[0][0].variable


def test_an_accumulator_that_was_seen_keeps_its_leaf_and_dies_with_its_graph():
    x = tensor([1.0], True)
    y = add(x, x)
    node = y.grad_fn.next_functions[0][0]
    del y
    assert add(x, x).grad_fn.next_functions[0][0] is node
    last, leaf = weakref.ref(node), weakref.ref(x)
    del x
    assert node.variable is leaf()
    del node
    assert (last(), leaf()) == (None, None)


def test_a_leaf_with_another_array_takes_gradients_of_its_shape():
    x = tensor([1.0], True)
    mul(x, x)
    replace_array(x, np.ones((2, 2), np.float32))
    total(mul(x, x)).backward()
    assert x.grad.array.tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_gradients_of_a_leaf_with_gradient_add_up():
    x = tensor([3.0], True)
    for expected in (6.0, 12.0):
        total(mul(x, x)).backward()
        assert x.grad.array.tolist() == [expected]


def test_a_million_nodes_run_and_are_freed_without_recursion():
    x = tensor([1.0], True)
    zero = tensor([0.0])
    y = x
    for _ in range(1_000_000):
        y = add(y, zero)
    total(y).backward()
    assert x.grad.array.tolist() == [1.0]
    del y
    gc.collect()


def test_several_outputs_gather_their_gradients():
    x = tensor([[1.0, 2.0], [3.0, 4.0]], True)
    a, _ = ops.aten.unbind.int(x)
    total(mul(a, a)).backward()
    assert x.grad.array.tolist() == [[2.0, 4.0], [0.0, 0.0]]


class Undefined(Function):
    """The identity, whose gradient is undefined."""

    @staticmethod
    def forward(ctx, x):
        return ops.aten.clone.default(x)

    @staticmethod
    def backward(ctx, grad):
        return None


@pytest.mark.parametrize("undefined_first", [True, False])
@pytest.mark.parametrize("hooked", [True, False])
def test_an_undefined_gradient_adds_nothing_to_a_defined_one(undefined_first, hooked):
    x = tensor([1.0, 2.0], True)
    y = mul(x, x)
    parts = [lambda: mul(y, y), lambda: Undefined.apply(y)]
    if not undefined_first:  # the latest call runs first
        parts.reverse()
    first, second = [part() for part in parts]
    seen = []
    if hooked:
        x.register_hook(lambda grad: seen.append(grad.array.tolist()))
    total(add(first, second)).backward()
    assert x.grad.array.tolist() == [4.0, 32.0]
    assert seen == ([[4.0, 32.0]] if hooked else [])


@pytest.mark.parametrize("undefined_first", [True, False])
def test_an_undefined_gradient_of_one_of_several_outputs_is_left_out(undefined_first):
    x = tensor([[1.0, 2.0], [3.0, 4.0]], True)
    a, b = ops.aten.unbind.int(x)
    parts = [lambda: mul(a, a), lambda: Undefined.apply(b)]
    if not undefined_first:
        parts.reverse()
    first, second = [part() for part in parts]
    total(add(first, second)).backward()
    assert x.grad.array.tolist() == [[2.0, 4.0], [0.0, 0.0]]


def test_undefined_gradients_alone_leave_grad_as_it_is():
    x, y = tensor([1.0, 2.0], True), tensor([3.0, 4.0], True)
    total(add(Undefined.apply(mul(x, x)), y)).backward()
    assert x.grad is None
    assert y.grad.array.tolist() == [1.0, 1.0]


def test_a_leaf_is_complete_when_its_last_gradient_does_not_come():
    x = tensor([1.0, 2.0], True)
    seen = []
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad.array.tolist()))
    late = Undefined.apply(x)
    total(add(mul(x, x), late)).backward()
    early = mul(x, x)
    total(add(Undefined.apply(x), early)).backward()
    assert seen == [[2.0, 4.0], [4.0, 8.0]]


def test_a_leaf_is_given_what_a_nested_backward_left_of_its_gradient():
    x = tensor([1.0, 2.0], True)

    class Nested(Function):
        @staticmethod
        def forward(ctx, y):
            return ops.aten.clone.default(y)

        @staticmethod
        def backward(ctx, grad):
            with autograd.enable_grad():
                total(mul(x, x)).backward()
            return grad

    y = Nested.apply(x)
    total(add(y, mul(x, x))).backward()
    assert x.grad.array.tolist() == [5.0, 9.0]


def test_backward_may_run_inside_backward_at_depth_150():
    class Deep(Function):
        @staticmethod
        def forward(ctx, x, depth):
            ctx.depth = depth
            return ops.aten.clone.default(x)

        @staticmethod
        def backward(ctx, grad):
            if ctx.depth:
                with autograd.enable_grad():
                    inner = tensor([1.0], True)
                    total(Deep.apply(inner, ctx.depth - 1)).backward()
                    seen.append(inner.grad.array.item())
            return grad, None

    seen = []
    total(Deep.apply(tensor([1.0], True), 150)).backward()
    assert seen == [1.0] * 150


def test_callbacks_run_at_the_end_and_only_inside():
    x = tensor([1.0], True)
    order = []
    y = mul(x, x)
    y.register_hook(
        lambda grad: autograd.default_engine.queue_callback(lambda: order.append("callback"))
    )
    x.register_hook(lambda grad: order.append("leaf"))
    total(y).backward()
    assert order == ["leaf", "callback"]
    with pytest.raises(
        RuntimeError, match="Final callbacks can only be installed during backward pass"
    ):
        autograd.default_engine.queue_callback(lambda: None)


def test_a_callback_may_queue_another():
    x = tensor([1.0], True)
    order = []

    def callback():
        order.append("first")
        autograd.default_engine.queue_callback(lambda: order.append("second"))

    y = mul(x, x)
    y.register_hook(lambda grad: autograd.default_engine.queue_callback(callback))
    total(y).backward()
    assert order == ["first", "second"]


def test_two_threads_add_up():
    x = tensor([0.0], True)
    one = tensor([1.0])

    def run():
        for _ in range(50):
            total(mul(x, one)).backward()

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert x.grad.array.tolist() == [100.0]


def test_an_operator_without_formula_fails_only_in_backward():
    x = tensor([1.0], True)
    y = ops.autograd_tests.no_formula.default(x)
    assert y.array.tolist() == [-1.0]
    assert y.requires_grad
    message = (
        "Trying to backward through autograd_tests.no_formula.default but no autograd formula was"
    )
    with pytest.raises(RuntimeError, match=message):
        y.backward()
