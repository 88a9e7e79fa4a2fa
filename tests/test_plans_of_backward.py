"""`autograd.graph.plan`, and the engine's tasks, queue and buffers as a program sees them."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

import pytest

import dovetail
from dovetail import Tensor
from dovetail.autograd.engine import (
    Engine,
    GraphRoot,
    GraphTask,
    InputBuffer,
    ReadyQueue,
    current_graph_task,
)
from dovetail.autograd.graph import get_gradient_edge, plan

GRAPHS = int(os.environ.get("DOVETAIL_PROGRAMS", "60"))
FIRST = int(os.environ.get("DOVETAIL_FIRST_PROGRAM", "0"))


def short(node: Any) -> str:
    return str(node.name().rpartition("::")[2])


def random_graph(number: int) -> tuple[Tensor, list[Tensor], list[Tensor]]:
    """Return the output of a random graph, its leaves, and what lies between."""
    draw = random.Random(number)
    leaves = [dovetail.full((2,), draw.uniform(0.5, 1.5)) for _ in range(3)]
    for each in leaves:
        each.requires_grad_()
    tensors = list(leaves)
    unary = (Tensor.exp, Tensor.sin, Tensor.neg, lambda t: t * 2, lambda t: t.unbind(0)[1])
    binary = (Tensor.add, Tensor.mul, lambda a, b: a @ b if a.dim() and b.dim() else a * b)
    for _ in range(draw.randrange(1, 12)):
        if draw.random() < 0.4:
            chosen = draw.choice(tensors)
            tensors.append((draw.choice(unary) if chosen.dim() else Tensor.exp)(chosen))
        else:
            tensors.append(draw.choice(binary)(draw.choice(tensors), draw.choice(tensors)))
    return tensors[-1].sum(), leaves, tensors[3:]


def test_a_plan_says_what_each_node_waits_for_and_frees() -> None:
    x = dovetail.ones(4, 4, requires_grad=True)
    y = x.exp()
    loss = (y * y).sum()
    total, times, exp, leaf = plan(loss)
    assert [short(each.node) for each in (total, times, exp, leaf)] == [
        "SumBackward0", "MulBackward0", "ExpBackward0", "AccumulateGrad"
    ]  # fmt: skip
    assert [each.dependencies for each in (total, times, exp, leaf)] == [1, 1, 2, 1]
    assert not times.frees, "exp saved the same array, and lets go of it later"
    assert [each.name for each in exp.frees] == ["result"]
    assert exp.nbytes == 64
    assert str(exp) == "ExpBackward0: waits for 2 gradients, frees result (64 bytes)"
    assert str(plan(loss)).splitlines()[2] == f"3. {exp}"


def test_a_plan_runs_nothing_and_frees_nothing() -> None:
    x = dovetail.ones(2, requires_grad=True)
    called: list[str] = []

    class Noting(dovetail.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Tensor:
            called.append("backward")
            return grad * 2

    y = Noting.apply(x + 1)
    y.register_hook(lambda grad: called.append("hook"))
    y.grad_fn.register_prehook(lambda grads: called.append("prehook"))
    steps = plan(y.sum())
    assert [each.name for each in steps[1].frees] == ["saved_tensors[0]"]
    assert not called
    assert x.grad is None
    y.sum().backward()
    assert called == ["hook", "prehook", "backward"]


def test_a_plan_of_what_was_freed_or_written_says_that_it_will_fail() -> None:
    x = dovetail.ones(2, requires_grad=True)
    y = x.exp()
    loss = (y * y).sum()
    with dovetail.no_grad():
        y.add_(1)
    step = plan(loss)[1]
    assert {each.name for each in step.unusable} == {"self", "other"}
    assert "self was changed in place" in str(step)
    y = x.exp()
    y.sum().backward()
    assert str(plan(y)[0]).endswith("result was freed")
    assert not plan(y)[0].frees


def test_a_plan_with_inputs_leaves_out_what_does_not_lead_there() -> None:
    x, w = dovetail.ones(2, requires_grad=True), dovetail.ones(2, requires_grad=True)
    y = x * w
    loss = y.exp().sum()
    assert [short(each.node) for each in plan(loss, w)] == [
        "SumBackward0", "ExpBackward0", "MulBackward0", "AccumulateGrad"
    ]  # fmt: skip
    captured = plan(loss, y, accumulate_grad=False)
    assert [each.runs for each in captured] == [True, True, False]
    assert str(captured[-1]) == "MulBackward0: waits for 1 gradient, is captured only"
    assert not any(each.frees for each in plan(loss, retain_graph=True))


def test_a_plan_needs_a_graph_and_grad_needs_inputs() -> None:
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad"):
        plan(dovetail.ones(2))
    x = dovetail.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="Name what to differentiate by"):
        plan(x * 2, accumulate_grad=False)


@pytest.mark.parametrize("number", range(FIRST, FIRST + GRAPHS))
def test_a_backward_goes_as_planned(number: int) -> None:
    loss, leaves, _ = random_graph(number)
    inputs = random.Random(number).choice((None, leaves[:1]))
    try:
        planned = plan(loss, inputs)
    except RuntimeError:
        pytest.skip("no graph")
    with dovetail.tracing() as trace:
        loss.backward(inputs=inputs)
    ran = [span.name.rpartition("::")[2] for span in trace.spans if span.kind == "node"]
    assert ran == [short(each.node) for each in planned if each.runs]
    assert not any(each.frees for each in plan(loss, inputs)), "all was freed"


def seen_from_hooks(number: int, engine: Callable[[Tensor], None]) -> list[Any]:
    """Return what hooks of a random graph see waiting, leaves apart."""
    loss, _, between = random_graph(number)
    seen: list[Any] = []

    def look(grad: Tensor) -> None:
        task = current_graph_task()
        assert task is not None
        ready = [(short(node), buffer) for node, buffer in task.ready_queue]
        not_ready = [(short(node), buffer) for node, buffer in task.not_ready.items()]
        counts = [(short(node), count) for node, count in task.dependencies.items()]
        seen.append(
            (
                short(dovetail._C._current_autograd_node()),
                [(name, values(buffer)) for name, buffer in ready if name != "AccumulateGrad"],
                sorted((n, values(b)) for n, b in not_ready if n != "AccumulateGrad"),
                sorted(pair for pair in counts if pair[0] != "AccumulateGrad"),
            )
        )

    for tensor in random.Random(number).sample(between, len(between) // 2):
        tensor.register_hook(look)
    engine(loss)
    return seen


def values(buffer: InputBuffer) -> str:
    return str([None if each is None else each.tolist() for each in buffer])


def over_tensors(loss: Tensor) -> None:
    with pytest.warns(UserWarning, match="Anomaly Detection"), dovetail.autograd.detect_anomaly():
        loss.backward()


@pytest.mark.parametrize("number", range(FIRST, FIRST + GRAPHS))
def test_hooks_see_the_same_waiting_over_arrays_and_over_tensors(number: int) -> None:
    assert seen_from_hooks(number, Tensor.backward) == seen_from_hooks(number, over_tensors)


@pytest.mark.parametrize("number", range(FIRST, FIRST + GRAPHS, 3))
def test_the_engine_called_step_by_step_gives_the_same_gradients(number: int) -> None:
    loss, leaves, _ = random_graph(number)
    loss.backward(retain_graph=True)
    expected = [each.grad for each in leaves]
    for each in leaves:
        each.grad = None
    engine = Engine.get_default_engine()
    root = GraphRoot((get_gradient_edge(loss),), (dovetail.ones(()),))
    task = GraphTask()
    engine.compute_dependencies(root, task)
    assert set(task.dependencies) == task.nodes_in_graph
    queue = task.ready_queue
    assert isinstance(queue, ReadyQueue)
    queue.push(root, InputBuffer())
    while not queue.empty():
        node, gradients = queue.pop()
        assert node not in task.dependencies
        engine.evaluate_function(task, node, gradients, queue)
    assert not task.not_ready
    assert not task.dependencies
    for leaf, gradient in zip(leaves, expected, strict=True):
        assert (leaf.grad is None) == (gradient is None)
        if gradient is not None:
            assert dovetail.testing.assert_close(leaf.grad, gradient) is None


def test_a_graph_task_runs_at_once_and_returns_what_was_captured() -> None:
    x = dovetail.ones(2, requires_grad=True)
    y = (x * 3).sum()
    root = GraphRoot((get_gradient_edge(y),), (dovetail.ones(()),))
    task = GraphTask(keep_graph=True)
    engine = Engine.get_default_engine()
    engine.compute_dependencies(root, task)
    task.init_to_execute((get_gradient_edge(x),), False)
    (grad,) = engine.execute_with_graph_task(task, root, InputBuffer())
    assert grad is not None
    assert grad.tolist() == [3, 3]
    assert x.grad is None
    infos = {short(node): info for node, info in task.exec_info.items()}
    assert infos["AccumulateGrad"].captures == ((0, 0),)
    assert not infos["AccumulateGrad"].needed
    assert infos["MulBackward0"].needed


def test_what_is_looked_at_from_a_hook_may_be_kept() -> None:
    x = dovetail.ones(2, requires_grad=True)
    kept: list[Any] = []

    def look(grad: Tensor) -> None:
        task = current_graph_task()
        assert task is not None
        kept.append([task.ready_queue, task.not_ready])

    y = x * 2
    z = y.exp()
    z.register_hook(look)
    (z + y + x).sum().backward()
    buffers = [b for queue, _ in kept for _, b in queue] + [b for _, d in kept for b in d.values()]
    before = [values(each) for each in buffers]
    assert x.grad is not None
    x.grad.add_(1)
    assert [values(each) for each in buffers] == before
    assert current_graph_task() is None


def test_execute_refuses_to_return_gradients_at_no_edges() -> None:
    x = dovetail.ones(2, requires_grad=True)
    edge = get_gradient_edge(x)
    with pytest.raises(RuntimeError, match="grad requires non-empty inputs"):
        Engine.execute((edge,), (dovetail.ones(2),), False, False, False)
    assert list(Engine.execute((), (), False, False, True)) == []
    Engine.execute((edge,), (dovetail.ones(2),), False, False, True)
    assert x.grad is not None
    assert x.grad.tolist() == [1, 1]


def test_the_queue_of_a_task_is_worked_off_at_once() -> None:
    x = dovetail.ones(2, requires_grad=True)
    y = (x * 3).exp()
    root = GraphRoot((get_gradient_edge(y),), (dovetail.ones(2),))
    task = GraphTask()
    engine = Engine.get_default_engine()
    engine.compute_dependencies(root, task)
    task.ready_queue.push(root, InputBuffer())
    engine.thread_main(task)
    assert task.ready_queue.empty()
    assert x.grad is not None
    assert x.grad.tolist() == (y * 3).tolist()


def test_the_ready_queue_gives_leaves_first_and_then_the_node_recorded_last() -> None:
    x = dovetail.ones(2, requires_grad=True)
    y = x.exp()
    z = y.sin()
    leaf = y.grad_fn.next_functions[0][0]
    queue = ReadyQueue()
    for node in (y.grad_fn, leaf, z.grad_fn):
        queue.push(node, InputBuffer([None]))
    assert queue.size() == len(queue) == 3
    in_order = [task.fn for task in queue]
    assert [queue.pop().fn for _ in range(3)] == in_order == [leaf, z.grad_fn, y.grad_fn]
    assert queue.empty()
    with pytest.raises(IndexError):
        queue.pop()


def test_an_input_buffer_adds_what_comes_to_one_output() -> None:
    buffer = InputBuffer([None, None])
    buffer.add(1, dovetail.ones(2))
    buffer.add(1, dovetail.ones(2))
    assert values(buffer) == "[None, [2.0, 2.0]]"
