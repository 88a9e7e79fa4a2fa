"""The run of a backward as hooks see it: what waits, in the loop over arrays and over tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from small_library import real

import dovetail_autograd as autograd
from dovetail_autograd import Function, NodeTask
from dovetail_dispatcher import CustomOpDef, ops
from dovetail_dispatcher import custom_op as make_custom_op

mul, add, exp = ops.aten.mul.Tensor, ops.aten.add.Tensor, ops.aten.exp.default
total, select = ops.aten.sum.default, ops.aten.select.int


class Asking(Function):
    """The identity, whose backward tells about the run that it is in."""

    seen: Any = None

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return ops.aten.clone.default(x)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        task = autograd.current_graph_task()
        assert task is not None
        Asking.seen = (
            [each.fn.name() for each in task.ready_queue],
            {
                node.name(): [g and g.array.tolist() for g in b]
                for node, b in task.not_ready.items()
            },
            {node.name(): count for node, count in task.dependencies.items()},
            dict(task.exec_info),
            {node.name() for node in task.nodes_in_graph},
            repr(task),
        )
        return grad


def graph(hooked: bool) -> Any:
    """Return a leaf, and a scalar: exp(2x) + asking(2x) * 3 + (2x) * 5, recorded in this order."""
    x = real([1.0], True)
    hidden = mul(x, real([2.0]))
    first = exp(hidden)
    asked = Asking.apply(hidden)
    third = mul(asked, real([3.0]))
    result = total(add(add(first, third), mul(hidden, real([5.0]))))
    if hooked:
        result.grad_fn.register_hook(lambda *_: None)
    return x, hidden, result


@pytest.mark.parametrize("hooked", [False, True])
def test_a_node_sees_what_is_ready_and_what_waits(hooked: bool) -> None:
    x, _, result = graph(hooked)
    result.backward()
    ready, waiting, counts, infos, nodes, text = Asking.seen
    assert ready == ["ExpBackward0"]
    assert waiting == {"MulBackward0": [[5.0]]}  # from the product that ran already
    assert counts["MulBackward0"] == 2
    assert infos == {}
    assert {"SumBackward0", "AddBackward0", "AskingBackward", "MulBackward0"} <= nodes
    assert text.endswith("1 nodes ready, 1 not ready>")
    np.testing.assert_allclose(x.grad.array, 2 * (np.exp([2.0]) + 3 + 5))


@pytest.mark.parametrize("hooked", [False, True])
def test_a_run_to_inputs_tells_what_it_needs(hooked: bool) -> None:
    _, hidden, result = graph(hooked)
    (found,) = autograd.grad(result, hidden)
    np.testing.assert_allclose(found.array, np.exp([2.0]) + 8)
    _, _, counts, infos, _, _ = Asking.seen
    needed = {node.name() for node, info in infos.items() if info.needed}
    assert needed == {
        "SumBackward0",
        "AddBackward0",
        "ExpBackward0",
        "AskingBackward",
        "MulBackward0",
    }
    assert not infos[hidden.grad_fn].needed
    ((output_nr, position),) = infos[hidden.grad_fn].captures
    assert (output_nr, position) == (0, 0)
    assert infos[result.grad_fn].captures == ()
    assert counts["MulBackward0"] == 2


def test_queue_and_buffers_are_shown_and_read_in_order() -> None:
    node = mul(real([1.0], True), real([1.0])).grad_fn
    later = mul(real([1.0], True), real([1.0])).grad_fn
    queue = autograd.ReadyQueue()
    buffer = autograd.InputBuffer([None])
    buffer.add(0, real([1.0]))
    buffer.add(0, real([2.0]))
    assert buffer[0].array.tolist() == [3.0]
    queue.push(node, buffer)
    queue.push(later, autograd.InputBuffer([None]))
    assert len(queue) == queue.size() == 2
    assert [task.fn for task in queue] == [later, node]
    assert repr(queue) == "ReadyQueue(['MulBackward0', 'MulBackward0'])"
    assert repr(buffer) == f"InputBuffer({[buffer[0]]!r})"
    assert queue.pop().fn is later
    assert queue.pop() == NodeTask(node, buffer)
    assert queue.empty()
    with pytest.raises(IndexError):
        queue.pop()


def test_a_root_is_a_node_and_its_gradients() -> None:
    x = real([2.0], True)
    edge = autograd.get_gradient_edge(mul(x, x))
    seed = real([1.0])
    root = autograd.GraphRoot([edge[:2]], [seed])
    assert root.next_edges[0][0] is edge.node
    assert list(root.apply_tensors()) == [seed]
    assert "GraphRoot" in root.name()


# -- undefined gradients ---------------------------------------------------------------------------


class Stop(Function):
    """The identity through which no gradient comes."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return ops.aten.clone.default(x)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return None


@pytest.mark.parametrize("kind", ["tensor", "post", "node"])
def test_a_watched_leaf_learns_that_no_gradient_came(kind: str) -> None:
    x = real([2.0], True)
    seen: list[Any] = []
    if kind == "tensor":
        x.register_hook(seen.append)
    elif kind == "post":
        x.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad))
    else:
        node = autograd.gradient_edge(x)[0].presented()
        node.register_hook(lambda inputs, outputs: seen.append(outputs[0]))
    total(Stop.apply(x)).backward()
    assert seen == [None]
    assert x.grad is None
    total(add(Stop.apply(x), mul(x, real([3.0])))).backward()
    assert len(seen) == 2
    assert x.grad.array.tolist() == [3.0]


def test_a_node_of_formulas_passes_undefined_gradients_on() -> None:
    x = real([2.0], True)
    hidden = exp(mul(x, x))
    seen: list[Any] = []
    hidden.grad_fn.register_hook(lambda inputs, outputs: seen.append((inputs, outputs)))
    total(Stop.apply(hidden)).backward()
    assert seen == [((None,), (None,))]
    assert x.grad is None


@pytest.mark.parametrize("reads", [False, True])
def test_code_of_the_user_owns_the_gradients_that_it_gets(reads: bool) -> None:
    class Writing(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return ops.aten.clone.default(x)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            grad.array[...] *= 100
            return grad

    x, y = real([1.0, 2.0], True), real([3.0, 4.0], True)
    seed = real([1.0, 1.0])
    result = add(Writing.apply(x), y)
    if reads:
        result.register_hook(lambda grad: None)
    result.backward(seed)
    assert x.grad.array.tolist() == [100.0, 100.0]
    assert y.grad.array.tolist() == [1.0, 1.0]
    assert seed.array.tolist() == [1.0, 1.0]


def test_hooks_that_write_reach_nobody_else() -> None:
    x, y = real([1.0, 2.0], True), real([3.0, 4.0], True)
    hidden = mul(x, real(1.0))

    def write(inputs: Any, outputs: Any) -> None:
        inputs[0].array[...] *= 100

    hidden.grad_fn.register_hook(write)
    add(hidden, y).backward(real([1.0, 1.0]))
    assert x.grad.array.tolist() == [100.0, 100.0]
    assert y.grad.array.tolist() == [1.0, 1.0]


# -- views of custom operators ---------------------------------------------------------------------


@pytest.fixture
def first() -> Iterator[CustomOpDef]:
    @make_custom_op("runs_seen::first", mutates_args=(), schema="(Tensor(a) x) -> Tensor(a)")
    def op(x: Any) -> Any:
        return select(x, 0, 0)

    yield op
    op._lib._destroy()


def test_a_view_of_a_custom_operator_is_not_written(first: CustomOpDef) -> None:
    first.register_autograd(lambda ctx, grad: ops.aten.stack.default([grad, grad], 0))
    x = real([2.0, 3.0], True)
    hidden = mul(x, real(1.0))
    view = first(hidden)
    assert view._is_view()
    with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
        ops.aten.mul_.Tensor(view, real(3.0))
    mul(first(hidden), real(5.0)).backward()
    assert x.grad.array.tolist() == [5.0, 5.0]
