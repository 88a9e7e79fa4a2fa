"""What code may ask about a graph: plans, saved values, the running backward, nodes."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from small_library import real, tensor

import dovetail_autograd as autograd
from dovetail_autograd import Function, plan, saved_values
from dovetail_dispatcher import Library, ops, register_autograd

mul, add, exp = ops.aten.mul.Tensor, ops.aten.add.Tensor, ops.aten.exp.default
total, add_ = ops.aten.sum.default, ops.aten.add_.Tensor


class Square(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x, None)
        return mul(x, x)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        x, _ = ctx.saved_tensors
        return mul(grad, add(x, x))


# -- plans -----------------------------------------------------------------------------------------


def names(steps: Any) -> list[str]:
    return [step.node.name().removesuffix("0").removesuffix("Backward") for step in steps]


def test_a_plan_is_the_order_in_which_nodes_run() -> None:
    x, y = real([1.0, 2.0], True), real([3.0, 4.0], True)
    product = mul(x, y)
    loss = total(add(exp(product), product))
    steps = plan(loss)
    ran: list[str] = []
    for step in steps:
        name = step.node.name()
        step.node.register_hook(lambda *_, name=name: ran.append(name))
    assert names(steps)[:4] == ["Sum", "Add", "Exp", "Mul"]
    assert len(steps) == 6
    assert [step.dependencies for step in steps] == [1, 1, 1, 2, 1, 1]
    assert all(step.runs for step in steps)
    assert x.grad is None
    loss.backward()
    assert ran[:4] == [step.node.name() for step in steps[:4]]


def test_a_plan_says_what_is_freed_and_how_much() -> None:
    x, y = real(np.ones(4), True), real(np.ones(4), True)
    hidden = mul(x, y)
    result = exp(hidden)
    steps = plan(total(result))
    (of_exp,) = [step for step in steps if names([step]) == ["Exp"]]
    (of_mul,) = [step for step in steps if names([step]) == ["Mul"]]
    assert [each.name for each in of_exp.frees] == ["result"]
    assert of_exp.nbytes == 32
    assert of_mul.frees == ()  # the leaves live on
    assert of_mul.nbytes == 0
    text = str(steps).splitlines()
    assert text[0].startswith("1. SumBackward")
    assert text[0].endswith(": waits for 1 gradient")
    assert text[1].endswith("waits for 1 gradient, frees result (32 bytes)")
    assert repr(steps) == f"<plan of {len(steps)} nodes>"
    assert steps[1:2] == (of_exp,)
    assert plan(total(result), retain_graph=True)[1].frees == ()


def test_memory_is_freed_by_the_last_node_that_saved_it() -> None:
    x = real(np.ones(4), True)
    hidden = mul(x, real(np.ones(4)))
    loss = total(mul(mul(hidden, hidden), hidden))
    steps = [step for step in plan(loss) if names([step]) == ["Mul"]]
    freed = [[each.name for each in step.frees] for step in steps]
    assert "self" in freed[1]
    assert "other" in freed[1]
    assert "other" not in freed[0]  # the same tensor as the second node's
    assert [step.nbytes for step in steps][1] == 32  # named twice, and freed once


def test_a_plan_to_inputs_captures_there() -> None:
    x, y = real([1.0], True), real([2.0], True)
    hidden = mul(x, y)
    loss = total(exp(hidden))
    steps = plan(loss, hidden, accumulate_grad=False)
    assert names(steps) == ["Sum", "Exp", "Mul"]
    assert [step.runs for step in steps] == [True, True, False]
    assert str(steps[2]).endswith("waits for 1 gradient, is captured only")
    steps = plan(loss, [x])
    assert len(steps) == 4
    assert steps[3].node is autograd.gradient_edge(x)[0]
    with pytest.raises(RuntimeError, match=r"a plan of grad\(\) needs inputs"):
        plan(loss, accumulate_grad=False)


def test_a_plan_shows_what_will_fail() -> None:
    x = real([1.0], True)
    hidden = mul(x, x)
    loss = total(mul(hidden, hidden))
    add_(hidden, real([1.0]))
    steps = plan(loss)
    assert [each.state for each in steps[1].unusable] == ["changed", "changed"]
    assert "self was changed in place" in str(steps[1])
    other = total(mul(x, x))
    other.backward()
    assert {each.state for each in plan(other)[1].unusable} == {"freed"}
    assert "self was freed" in str(plan(other)[1])


def test_a_plan_waits_for_gradients_from_two_roots() -> None:
    x = real([1.0], True)
    hidden = mul(x, real([2.0]))
    first, second = total(hidden), total(exp(hidden))
    steps = plan([first, second])
    assert sorted(names(steps)[:4]) == ["Exp", "Mul", "Sum", "Sum"]
    (of_mul,) = [step for step in steps if names([step]) == ["Mul"]]
    assert of_mul.dependencies == 2
    assert "waits for 2 gradients" in str(of_mul)


def test_a_plan_needs_a_graph() -> None:
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad"):
        plan(real(1.0))


# -- saved values ----------------------------------------------------------------------------------


def listed(node: Any) -> dict[str, tuple[Any, str]]:
    return {each.name: (each.value, each.state) for each in saved_values(node)}


def test_saved_values_are_listed_with_their_state() -> None:
    x, y = real([1.0, 2.0], True), real([3.0, 4.0], True)
    product = mul(x, y)
    found = listed(product.grad_fn)
    assert found["self"] == (x, "kept")
    assert found["other"][0] is y
    result = exp(product)
    found = listed(result.grad_fn)
    assert found["result"][1] == "kept"
    np.testing.assert_array_equal(found["result"][0].array, result.array)
    add_(result, real([1.0, 1.0]))
    of_exp = result.grad_fn.next_functions[0][0]
    assert listed(of_exp)["result"][1] == "changed"


def test_saved_values_that_are_gone_are_listed_too() -> None:
    x = real([1.0], True)
    hidden = mul(x, real([2.0]))
    square = mul(hidden, hidden)
    add_(hidden, real([1.0]))
    assert listed(square.grad_fn)["self"][1] == "changed"
    other = total(mul(x, x))
    node = other.grad_fn.next_functions[0][0]
    other.backward()
    assert listed(node)["self"] == (None, "freed")


def test_values_that_were_not_needed_are_none() -> None:
    x = real([1.0], True)
    found = listed(mul(x, real([2.0])).grad_fn)
    assert found["self"] == (None, "kept")
    assert found["other"][1] == "kept"


def test_sizes_and_numbers_are_listed() -> None:
    x = real([[1.0, 2.0]], True)
    found = listed(ops.aten.select.int(x, 1, 0).grad_fn)
    assert found["dim"] == (1, "kept")
    assert found["index"] == (0, "kept")
    assert tuple(found["self_sym_sizes"][0]) == (1, 2)


def test_what_hooks_packed_is_not_unpacked_to_be_listed() -> None:
    x = real([1.0], True)
    with autograd.saved_tensors_hooks(lambda t: "packed", lambda packed: pytest.fail("unpacked")):
        product = mul(x, x)
        square = Square.apply(x)
        result = exp(x)
    assert listed(product.grad_fn)["self"] == (None, "packed")
    assert listed(square.grad_fn)["saved_tensors[0]"] == (None, "packed")
    assert listed(result.grad_fn)["result"] == (None, "packed")
    (of_mul,) = [step for step in plan(total(product)) if names([step]) == ["Mul"]]
    assert [each.name for each in of_mul.frees] == ["self", "other"]
    assert of_mul.nbytes == 0


def test_what_a_function_saved_is_listed() -> None:
    x = mul(real([1.0], True), real([1.0]))
    y = Square.apply(x)
    found = listed(y.grad_fn)
    assert found["saved_tensors[0]"] == (x, "kept")
    assert found["saved_tensors[1]"] == (None, "kept")
    add_(x, real([1.0]))
    assert listed(y.grad_fn)["saved_tensors[0]"][1] == "changed"
    z = Square.apply(real([1.0], True))
    node = z.grad_fn
    total(z).backward()
    assert listed(node) == {"saved_tensors": (None, "freed")}


# -- the running backward --------------------------------------------------------------------------


def test_code_in_a_backward_may_ask_which_run_and_node_it_is_in() -> None:
    x, y = real([1.0], True), real([2.0], True)
    product = mul(x, y)
    loss = total(exp(product))
    seen: list[Any] = []

    def ask(*_: Any) -> None:
        task = autograd.current_graph_task()
        assert task is not None
        seen.append(
            (
                autograd.current_graph_task_id() == task.id,
                autograd.current_autograd_node(),
                names_of(autograd.current_graph_task_execution_order()),
                autograd.will_engine_execute_node(product.grad_fn),
                autograd.will_engine_execute_node(autograd.gradient_edge(y)[0]),
            )
        )

    def names_of(nodes: Any) -> list[str]:
        return [node.name() for node in nodes]

    loss.grad_fn.register_prehook(ask)
    loss.backward(inputs=[x])
    ((same, node, order, runs, other_runs),) = seen
    assert same
    assert node is loss.grad_fn
    assert [name.rpartition("::")[2].partition("Backward")[0] for name in order] == [
        "Sum",
        "Exp",
        "Mul",
        "AccumulateGrad",
    ]
    assert runs
    assert not other_runs


def test_outside_of_a_backward_there_is_nothing_to_ask() -> None:
    node = mul(real([1.0], True), real([1.0])).grad_fn
    assert autograd.current_graph_task() is None
    assert autograd.current_graph_task_id() == -1
    assert autograd.current_autograd_node() is None
    with pytest.raises(RuntimeError, match="should only be called during the backward pass"):
        autograd.will_engine_execute_node(node)
    with pytest.raises(RuntimeError, match="should only be called during the backward pass"):
        autograd.current_graph_task_execution_order()
    with pytest.raises(RuntimeError, match="expects an grad_fn, but got int"):
        autograd.will_engine_execute_node(3)


def test_runs_have_different_numbers() -> None:
    numbers = []
    for _ in range(2):
        x = real([1.0], True)
        x.register_hook(lambda grad: numbers.append(autograd.current_graph_task_id()))
        total(mul(x, x)).backward()
    assert numbers[0] != numbers[1]
    assert -1 not in numbers


# -- nodes -----------------------------------------------------------------------------------------


def test_a_node_may_be_called() -> None:
    x, y = real([1.0, 2.0], True), real([3.0, 4.0], True)
    node = mul(x, y).grad_fn
    of_x, of_y = node(real([1.0, 10.0]))
    assert of_x.array.tolist() == [3.0, 40.0]
    assert of_y.array.tolist() == [1.0, 20.0]
    assert node(None) == (None, None)
    (found,) = [exp(x).grad_fn(real([1.0, 1.0]))]
    np.testing.assert_allclose(found.array, np.exp([1.0, 2.0]))
    with pytest.raises(TypeError, match="expected 1 arguments, got 2 instead"):
        node(None, None)
    with pytest.raises(TypeError, match="argument 0 is not a Variable, but int"):
        node(3)
    total(mul(x, y)).backward()


def test_a_node_tells_its_inputs_and_cannot_be_pickled() -> None:
    x = real([[1.0, 2.0]], True)
    node = mul(x, x).grad_fn
    (metadata,) = node._input_metadata
    assert metadata.shape == (1, 2)
    assert metadata.dtype is x.dtype
    assert metadata.device == "cpu"
    assert not metadata.is_nested_tensor
    assert node.requires_grad
    assert node.metadata == {}
    node.metadata["note"] = 1
    assert node.metadata == {"note": 1}
    assert repr(node).startswith("<MulBackward0 object at 0x")
    first = node._sequence_nr()
    node._set_sequence_nr(first + 5)
    assert node._sequence_nr() == first + 5
    with pytest.raises(TypeError, match=r"cannot pickle 'MulBackward0' object"):
        pickle.dumps(node)


def test_a_node_of_several_outputs_tells_all() -> None:
    x = real([[1.0, 2.0], [3.0, 4.0]], True)
    node = ops.aten.unbind.int(x)[0].grad_fn
    assert [each.shape for each in node._input_metadata] == [(2,), (2,)]
    (edge,) = node.next_functions
    assert edge == (autograd.gradient_edge(x)[0], 0)
    assert repr(edge) == repr(tuple(edge))


# -- calls without derivative ----------------------------------------------------------------------


@pytest.fixture
def lib() -> Iterator[Library]:
    made = Library("without_derivative", "FRAGMENT")
    yield made
    made._destroy()
    autograd._set_autograd_fallback_mode("error")


def grow(x: Any, y: Any) -> Any:
    x.array[...] += y.array
    return x


def opaque_in(lib: Library) -> Any:
    lib.define("opaque(Tensor x, Tensor[] more) -> Tensor")
    lib.impl("opaque", lambda x, more: real(x.array**2), "CPU")
    return ops.without_derivative.opaque.default


def test_a_call_without_derivative_raises_in_backward(lib: Library) -> None:
    opaque = opaque_in(lib)
    x = real([2.0], True)
    y = opaque(x, [])
    assert y.requires_grad
    with pytest.raises(
        RuntimeError, match=r"backward through without_derivative\.opaque\.default but no autograd"
    ):
        total(y).backward()
    y = opaque(real([2.0]), [real([1.0]), x])
    assert y.grad_fn.next_functions[0][0] is autograd.gradient_edge(x)[0]
    assert not opaque(real([2.0]), [real([1.0])]).requires_grad
    with autograd.no_grad():
        assert not opaque(x, []).requires_grad


def test_the_mode_for_calls_without_derivative(lib: Library) -> None:
    opaque = opaque_in(lib)
    x = real([2.0], True)
    assert autograd._get_autograd_fallback_mode() == "error"
    autograd._set_autograd_fallback_mode("warn")
    assert autograd._get_autograd_fallback_mode() == "warn"
    y = total(opaque(x, []))
    with pytest.warns(UserWarning, match="an autograd kernel was not registered to the Autograd"):
        y.backward()
    assert x.grad is None
    autograd._set_autograd_fallback_mode("nothing")
    assert not opaque(x, []).requires_grad
    with pytest.raises(ValueError, match="mode must be 'error', 'warn' or 'nothing', but got 'x'"):
        autograd._set_autograd_fallback_mode("x")


def test_writes_without_derivative_raise_in_backward(lib: Library) -> None:
    lib.define("grow_(Tensor(a!) x, Tensor y) -> Tensor(a!)")
    lib.impl("grow_", grow, "CPU")
    grow_ = ops.without_derivative.grow_.default
    leaf = real([1.0], True)
    with pytest.raises(RuntimeError, match="The operator without_derivative::grow_ has no derivat"):
        grow_(leaf, real([1.0]))
    hidden = mul(leaf, real([1.0]))
    assert grow_(hidden, real([1.0])) is hidden
    assert hidden.array.tolist() == [2.0]
    with pytest.raises(RuntimeError, match=r"backward through without_derivative\.grow_\.default"):
        total(hidden).backward()
    plain = real([1.0])
    grow_(plain, leaf)
    assert plain.requires_grad
    with pytest.raises(RuntimeError, match=r"backward through without_derivative\.grow_\.default"):
        total(plain).backward()


def test_out_with_what_requires_grad_is_refused(lib: Library) -> None:
    lib.define("into(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
    lib.impl("into", lambda x, *, out: add_(out, x), "CPU")
    into = ops.without_derivative.into.default
    message = r"into\(\): functions with out=... arguments don't support automatic"
    with pytest.raises(RuntimeError, match=message):
        into(real([1.0], True), out=real([1.0]))
    with pytest.raises(RuntimeError, match=message):
        into(real([1.0]), out=real([1.0], True))
    with autograd.no_grad():
        assert into(real([1.0], True), out=real([1.0])).array.tolist() == [2.0]


def test_an_operator_of_a_user_may_mix_what_is_differentiable(lib: Library) -> None:
    lib.define("parts(Tensor x, Tensor? y, Tensor[] more, float k) -> (Tensor, Tensor, int)")

    def kernel(x: Any, y: Any, more: Any, k: float) -> Any:
        return mul(x, real(k)), tensor([1], dtype=np.int64), 7

    given = []

    def backward(ctx: Any, of_product: Any, of_index: Any, of_number: Any) -> Any:
        given.append((of_index, of_number))
        return mul(of_product, real(ctx.k)), None, [None] * ctx.count, None

    def save(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.k, ctx.count = inputs[3], len(inputs[2])

    lib.impl("parts", kernel, "CPU")
    register_autograd("without_derivative::parts", backward, setup_context=save, lib=lib)
    x = real([2.0], True)
    product, index, number = ops.without_derivative.parts.default(x, None, [x, real([1.0])], 3.0)
    assert number == 7
    assert not index.requires_grad
    total(product).backward()
    assert x.grad.array.tolist() == [3.0]


# -- functions of tensors --------------------------------------------------------------------------


def test_a_delayed_error_is_raised_in_backward_only() -> None:
    x, y = real([1.0], True), real([2.0])
    first, second = autograd.DelayedError("too late", 2)(x, y)
    assert first.array.tolist() == [1.0]
    assert first.grad_fn.name() == "dovetail::autograd::Error"
    assert second.requires_grad
    with pytest.raises(RuntimeError, match="too late"):
        total(first).backward()
    plain = autograd.DelayedError(b"too late", 1)(y)
    assert not plain.requires_grad
    with autograd.no_grad():
        assert not autograd.DelayedError("too late", 1)(x).requires_grad


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: autograd.DelayedError(3, 1), RuntimeError, "'msg' must be a string, not int"),
        (lambda: autograd.DelayedError("m", "1"), RuntimeError, "must be an int, not str"),
        (
            lambda: autograd.DelayedError("m", 2)(real(1.0)),
            TypeError,
            "expected 2 arguments, got 1",
        ),
        (lambda: autograd.DelayedError("m", 1)(3), TypeError, "argument 0 is not a Variable, but"),
    ],
)
def test_a_delayed_error_checks_its_arguments(make: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        make()


def test_no_gradient_goes_through_undefined_grad() -> None:
    x = real([2.0], True)
    total(add(mul(autograd.UndefinedGrad()(x), real([5.0])), mul(x, x))).backward()
    assert x.grad.array.tolist() == [4.0]


def test_nodes_of_one_name_are_of_one_kind() -> None:
    product = mul(real([1.0], True), real([1.0]))
    kind = autograd.node_kind("MulBackward0")
    assert isinstance(product.grad_fn, kind)
    assert issubclass(type(product.grad_fn), kind)
    assert not isinstance(exp(product).grad_fn, kind)
    assert not isinstance(product, kind)
    assert kind.__name__ == "MulBackward0"
    with pytest.raises(TypeError, match="cannot create 'MulBackward0' instances"):
        kind()
    assert autograd.node_kind("AccumulateGrad") is autograd.AccumulateGrad
    names = autograd.node_names()
    assert {"MulBackward0", "AccumulateGrad", "CopySlices", "Error"} <= set(names)
    assert names == sorted(set(names))
    with pytest.raises(LookupError, match="no operator has a node 'NothingBackward7'"):
        autograd.node_kind("NothingBackward7")
