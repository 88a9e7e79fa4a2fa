"""Grad modes as decorators, inference mode, anomaly mode, hooks that are refused, saved tensors."""

from __future__ import annotations

import asyncio
import copy
import pickle
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from small_library import real, tensor

import dovetail_autograd as autograd
from dovetail_autograd import Function
from dovetail_dispatcher import TorchDispatchMode, ops

mul, add, exp = ops.aten.mul.Tensor, ops.aten.add.Tensor, ops.aten.exp.default
total, clone = ops.aten.sum.default, ops.aten.clone.default
add_, mul_, select = ops.aten.add_.Tensor, ops.aten.mul_.Tensor, ops.aten.select.int


class Square(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return mul(x, x)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return mul(grad, add(x, x))


# -- decorators ------------------------------------------------------------------------------------


MODES = [
    (autograd.no_grad, False),
    (autograd.no_grad(), False),
    (autograd.enable_grad, True),
    (autograd.enable_grad(), True),
    (autograd.set_grad_enabled(True), True),
]


@pytest.mark.parametrize(("mode", "expected"), MODES)
@pytest.mark.parametrize("outside", [False, True])
def test_a_decorated_function_of_any_kind_has_its_mode(
    mode: Any, expected: bool, outside: bool
) -> None:
    @mode
    def plain(x: int) -> Any:
        """Tell."""
        return autograd.is_grad_enabled(), x

    @mode
    def generator() -> Any:
        sent = yield autograd.is_grad_enabled()
        try:
            yield autograd.is_grad_enabled(), sent
        except KeyError:
            yield autograd.is_grad_enabled(), "caught"

    @mode
    async def coroutine() -> Any:
        await asyncio.sleep(0)
        return autograd.is_grad_enabled()

    @mode
    async def async_generator() -> Any:
        sent = yield autograd.is_grad_enabled()
        await asyncio.sleep(0)
        yield autograd.is_grad_enabled(), sent

    async def run() -> list[Any]:
        made = async_generator()
        found = [await coroutine(), await made.__anext__(), await made.asend("sent")]
        assert autograd.is_grad_enabled() is outside
        assert [item async for item in made] == []
        return found

    assert plain.__doc__ == "Tell."
    with autograd.set_grad_enabled(outside):
        assert plain(3) == (expected, 3)
        steps = generator()
        assert next(steps) is expected
        assert autograd.is_grad_enabled() is outside
        assert steps.send("sent") == (expected, "sent")
        assert steps.throw(KeyError()) == (expected, "caught")
        steps.close()
        assert asyncio.run(run()) == [expected, expected, (expected, "sent")]
        assert autograd.is_grad_enabled() is outside


def test_a_failing_function_leaves_the_mode_of_its_caller() -> None:
    @autograd.no_grad()
    def failing() -> None:
        raise KeyError

    with pytest.raises(KeyError):
        failing()
    assert autograd.is_grad_enabled()


def test_a_decorated_class_is_warned_of() -> None:
    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):

        @autograd.no_grad()
        class Made:
            enabled = None

            def __init__(self) -> None:
                self.enabled = autograd.is_grad_enabled()

    assert Made().enabled is False


def test_set_grad_enabled_as_decorator_leaves_the_caller_alone() -> None:
    @autograd.set_grad_enabled(False)
    def function() -> bool:
        return autograd.is_grad_enabled()

    assert autograd.is_grad_enabled()
    assert function() is False
    assert repr(autograd.set_grad_enabled(True)) == "set_grad_enabled(mode=True)"
    with pytest.raises(TypeError, match=r"argument 'enabled' \(position 1\) must be bool, not Non"):
        autograd.set_grad_enabled(None)  # type: ignore[arg-type]


def test_a_mode_may_be_entered_again_before_it_was_left() -> None:
    mode = autograd.no_grad()
    with mode:
        with autograd.enable_grad(), mode:
            assert not autograd.is_grad_enabled()
        assert not autograd.is_grad_enabled()
    assert autograd.is_grad_enabled()
    setting = autograd.set_grad_enabled(False)
    with setting:
        with autograd.enable_grad():
            with setting:
                assert not autograd.is_grad_enabled()
            assert autograd.is_grad_enabled()
        assert not autograd.is_grad_enabled()
    assert autograd.is_grad_enabled()


@pytest.mark.parametrize("mode", [True, False])
def test_inference_mode_decorates_and_nests(mode: bool) -> None:
    @autograd.inference_mode(mode)
    def function() -> bool:
        return autograd.is_inference_mode_enabled()

    assert function() is mode
    with autograd.inference_mode():
        assert function() is mode
        assert autograd.is_inference_mode_enabled()

    @autograd.inference_mode
    def bare() -> bool:
        return autograd.is_inference_mode_enabled()

    assert bare() is True
    assert not autograd.is_inference_mode_enabled()


def test_inference_tensors_stay_out_of_graphs() -> None:
    x = real([2.0], True)
    with autograd.inference_mode():
        y = mul(x, x)
        assert y.is_inference()
        assert not y.requires_grad
        mul_(y, real([2.0]))
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        mul(y, x)
    with pytest.raises(RuntimeError, match="Setting requires_grad=True on inference tensor outsid"):
        y.requires_grad = True
    z = clone(y)
    assert not z.is_inference()
    total(mul(z, x)).backward()
    assert x.grad.array.tolist() == [8.0]


def test_multithreading_is_a_setting() -> None:
    assert autograd.is_multithreading_enabled()
    with autograd.set_multithreading_enabled(False):
        assert not autograd.is_multithreading_enabled()
    assert autograd.is_multithreading_enabled()


# -- anomaly mode ----------------------------------------------------------------------------------


def test_anomaly_mode_is_set_and_put_back() -> None:
    assert not autograd.is_anomaly_enabled()
    with autograd.set_detect_anomaly(True, check_nan=False):
        assert autograd.is_anomaly_enabled()
        assert not autograd.is_anomaly_check_nan_enabled()
    assert not autograd.is_anomaly_enabled()
    assert autograd.is_anomaly_check_nan_enabled()
    with pytest.raises(TypeError, match="argument 'enabled' must be bool, not str"):
        autograd.set_detect_anomaly("x")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="argument 'check_nan' must be bool, not int"):
        autograd.set_detect_anomaly(True, 1)  # type: ignore[arg-type]
    with (
        pytest.warns(UserWarning, match="Anomaly Detection has been enabled"),
        autograd.detect_anomaly(check_nan=False),
    ):
        assert autograd.is_anomaly_enabled()
        assert not autograd.is_anomaly_check_nan_enabled()


class Failing(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return clone(x)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        raise KeyError("broken")


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_anomaly_mode_shows_the_call_whose_backward_failed() -> None:
    with autograd.detect_anomaly():
        y = total(Failing.apply(real([1.0], True)))
        with (
            pytest.warns(
                UserWarning, match=r"(?s)Error detected in FailingBackward.*Failing.apply"
            ),
            pytest.raises(KeyError, match="broken"),
        ):
            y.backward()
    y = total(Failing.apply(real([1.0], True)))
    with (
        autograd.detect_anomaly(),
        pytest.warns(UserWarning, match="No forward pass information available"),
        pytest.raises(KeyError, match="broken"),
    ):
        y.backward()


@pytest.mark.filterwarnings("ignore:Anomaly Detection", "ignore:Error detected")
@pytest.mark.parametrize("check_nan", [False, True])
def test_anomaly_mode_finds_nan_unless_told_not_to(check_nan: bool) -> None:
    class Undefined(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return clone(x)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return real([float("nan")])

    x = real([1.0], True)
    with autograd.detect_anomaly(check_nan=check_nan):
        y = total(Undefined.apply(x))
        if check_nan:
            with pytest.raises(RuntimeError, match="returned nan values in its 0th output"):
                y.backward()
        else:
            y.backward()
            assert np.isnan(x.grad.array).all()


@pytest.mark.filterwarnings("ignore:Anomaly Detection", "ignore:Error detected")
@pytest.mark.parametrize("recorded", ["inside", "before"])
def test_anomaly_mode_finds_nan_of_a_formula(recorded: str) -> None:
    x = real([1.0], True)
    with nullcontext() if recorded == "before" else autograd.detect_anomaly():
        y = total(mul(mul(x, real([0.0])), real([float("inf")])))
    with (
        autograd.detect_anomaly(),
        pytest.raises(RuntimeError, match=r"MulBackward0.*returned nan values"),
    ):
        y.backward()
    assert x.grad is None


# -- hooks -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("returned", "error", "message"),
    [
        (3, TypeError, "expected Variable, but hook returned 'int'"),
        (real([1.0, 2.0]), RuntimeError, r"has changed the size of value: \[1\] became \[2\]"),
        (tensor([1.0]), RuntimeError, r"has changed the type of value \(was dovetail.float64 got "),
    ],
)
@pytest.mark.parametrize("kind", ["tensor", "leaf", "node", "before"])
def test_a_hook_returns_a_gradient_alike(
    kind: str, returned: Any, error: Any, message: str
) -> None:
    x = real([2.0], True)
    hidden = mul(x, real([3.0]))
    if kind == "tensor":
        hidden.register_hook(lambda grad: returned)
    elif kind == "leaf":
        x.register_hook(lambda grad: returned)
    elif kind == "node":
        hidden.grad_fn.register_hook(lambda inputs, outputs: (returned, *inputs[1:]))
    else:
        hidden.grad_fn.register_prehook(lambda grads: (returned,))
    with pytest.raises(error, match=message):
        total(hidden).backward()
    assert x.grad is None


@pytest.mark.parametrize("kind", ["node", "before"])
def test_a_node_hook_returns_a_tuple(kind: str) -> None:
    hidden = mul(real([2.0], True), real([3.0]))
    register = hidden.grad_fn.register_hook if kind == "node" else hidden.grad_fn.register_prehook
    handle = register(lambda *_: [])
    with pytest.raises(TypeError, match="expected tuple, but hook returned 'list'"):
        total(hidden).backward()
    handle.remove()
    register(lambda *_: ())
    with pytest.raises(RuntimeError, match=r"has returned an incorrect number of values \(got 0"):
        total(hidden).backward()


def test_a_hook_may_not_make_a_gradient_of_none() -> None:
    class Half(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            return add(x, y)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad, None

    x, y = real([1.0], True), real([1.0], True)
    found = Half.apply(x, y)
    found.grad_fn.register_hook(lambda inputs, outputs: (inputs[0], inputs[0]))
    with pytest.raises(RuntimeError, match="can't replace a None gradient with a non-None value"):
        total(found).backward()


def test_hooks_may_replace_gradients_before_and_after_a_node() -> None:
    x = real([2.0], True)
    hidden = mul(x, real([3.0]))
    hidden.grad_fn.register_prehook(lambda grads: (mul(grads[0], real([10.0])),))
    hidden.grad_fn.register_hook(lambda inputs, outputs: (add(inputs[0], outputs[0]), *inputs[1:]))
    total(hidden).backward()
    assert x.grad.array.tolist() == [40.0]


def test_a_handle_is_a_context_manager_and_can_be_copied() -> None:
    x = real([2.0], True)
    ran = []
    with x.register_hook(lambda grad: ran.append(1)):
        total(mul(x, x)).backward()
    total(mul(x, x)).backward()
    assert ran == [1]
    hooks = {1: "hook"}

    class Mapping(dict[int, Any]):
        pass

    first, second = Mapping(hooks), Mapping(hooks)
    handle = autograd.RemovableHandle(first, extra=[second])
    first[handle.id] = second[handle.id] = "own"
    handle.remove()
    handle.remove()
    assert first == second == hooks
    other = autograd.RemovableHandle(Mapping())
    assert other.id == handle.id + 1
    again = copy.copy(other)
    assert again.id == other.id
    again.remove()
    assert autograd.RemovableHandle(first).id > other.id


def test_a_handle_is_pickled_with_its_number() -> None:
    handle = autograd.RemovableHandle(autograd.graph.hooks.Hooks())  # whose mapping is gone
    loaded = pickle.loads(pickle.dumps(handle))
    assert loaded.id == handle.id
    loaded.remove()


def test_the_mapping_of_hooks_may_be_replaced() -> None:
    x = real([2.0], True)
    assert x._backward_hooks is None
    x.register_hook(lambda grad: mul(grad, real([2.0])))
    assert len(x._backward_hooks) == 1
    x._backward_hooks = {0: lambda grad: mul(grad, real([5.0]))}
    total(mul(x, real([1.0]))).backward()
    assert x.grad.array.tolist() == [5.0]
    x._backward_hooks = None
    assert x._backward_hooks is None
    total(mul(x, real([1.0]))).backward()
    assert x.grad.array.tolist() == [6.0]
    with pytest.raises(TypeError, match="_backward_hooks must be a dict of hooks or None, not int"):
        x._backward_hooks = 3
    hidden = mul(x, real([1.0]))
    hidden._backward_hooks = {0: lambda grad: mul(grad, real([3.0]))}
    total(hidden).backward()
    assert x.grad.array.tolist() == [9.0]
    plain = real([1.0])
    plain._backward_hooks = {0: lambda grad: mul(grad, real([7.0]))}
    plain.requires_grad = True
    total(mul(plain, real([1.0]))).backward()
    assert plain.grad.array.tolist() == [7.0]


def test_post_accumulate_hooks_are_listed() -> None:
    x = real([2.0], True)
    assert x._post_accumulate_grad_hooks is None
    seen = []
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad.array.tolist()))
    assert len(x._post_accumulate_grad_hooks) == 1
    total(mul(x, x)).backward()
    total(mul(x, x)).backward()
    assert seen == [[4.0], [8.0]]
    with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't requ"):
        real([1.0]).register_post_accumulate_grad_hook(lambda leaf: None)


# -- saved tensors ---------------------------------------------------------------------------------


def test_hooks_nest_and_the_innermost_packs() -> None:
    packed: list[str] = []

    def hooks(name: str) -> Any:
        return autograd.saved_tensors_hooks(
            lambda t: (packed.append(name), t)[1], lambda t: (packed.append(f"un{name}"), t)[1]
        )

    x = real([2.0], True)
    with hooks("a"):
        first = mul(x, x)
        with hooks("b"):
            second = Square.apply(first)
    total(second).backward()
    assert x.grad.array.tolist() == [32.0]
    assert packed == ["a", "a", "b", "unb", "una", "una"]


def test_a_saved_result_is_packed_too() -> None:
    seen = []
    x = real([2.0], True)
    with autograd.saved_tensors_hooks(
        lambda t: (seen.append(t.array.item()), 2 * t.array)[1], real
    ):
        y = exp(x)
    total(y).backward()
    np.testing.assert_allclose(x.grad.array, 2 * np.exp([2.0]))
    np.testing.assert_allclose(seen, np.exp([2.0]))


def test_save_on_cpu_keeps_copies() -> None:
    x = real([2.0, 3.0], True)
    with autograd.save_on_cpu(pin_memory=True):
        hidden = mul(x, real([1.0, 1.0]))
        y = mul(hidden, hidden)
    hidden.array[...] = 100.0  # behind the graph's back
    total(y).backward()
    assert x.grad.array.tolist() == [4.0, 6.0]


def test_hooks_are_refused_where_they_are_disabled() -> None:
    @autograd.disable_saved_tensors_hooks("not here")
    def function() -> None:
        with autograd.saved_tensors_hooks(lambda t: t, lambda t: t):
            pass

    with pytest.raises(RuntimeError, match="not here"):
        function()
    with (
        autograd.saved_tensors_hooks(lambda t: t, lambda t: t),
        pytest.raises(RuntimeError, match="not here"),
        autograd.disable_saved_tensors_hooks("not here"),
    ):
        pass


def test_saved_tensors_may_be_written_where_they_are_copied() -> None:
    x = real([2.0], True)
    with autograd.allow_mutation_on_saved_tensors() as context:
        hidden = clone(x)
        square = mul(hidden, hidden)
        cube = mul(square, hidden)
        assert len(context.original) == 2  # hidden, saved thrice, and square
        assert not context.cloned
        assert len(context.tid_to_weakhandle) == 2
        assert sorted(map(len, context.sid_to_tid.values())) == [1, 1]
        add_(hidden, real([100.0]))
        assert len(context.original) == 1
        ((copied),) = context.cloned.values()
        assert copied.array.tolist() == [2.0]
        total(cube).backward()
        assert x.grad.array.tolist() == [12.0]
        del cube, square
        with (
            pytest.raises(RuntimeError, match="contexts cannot be nested"),
            autograd.allow_mutation_on_saved_tensors(),
        ):
            pass


@pytest.mark.parametrize("clears", [False, True])
def test_such_copies_are_gone_afterwards(clears: bool) -> None:
    x = real([2.0], True)
    with autograd.allow_mutation_on_saved_tensors() as context:
        y = total(mul(x, x))
        if clears:
            context.clear()
            with pytest.raises(
                AssertionError, match="Trying to backward outside of the 'allow_mut"
            ):
                y.backward()
    if not clears:
        with pytest.raises(AssertionError, match="Trying to backward outside of the 'allow_mut"):
            y.backward()
    assert not context.original


def test_views_of_one_memory_have_one_storage_there() -> None:
    x = real([2.0, 3.0], True)
    with autograd.allow_mutation_on_saved_tensors() as context:
        base = clone(x)
        first, second = select(base, 0, 0), select(base, 0, 1)
        y = mul(first, second)
        ((tids),) = context.sid_to_tid.values()
        assert len(tids) == 2
        y.backward()
    assert x.grad.array.tolist() == [3.0, 2.0]


# -- attributes of tensors -------------------------------------------------------------------------


def test_grad_dtype_is_the_dtype_in_which_gradients_add_up() -> None:
    x = tensor([1.0], True)
    single, double = x.dtype, real(1.0).dtype
    assert x.grad_dtype is single
    with pytest.raises(RuntimeError, match="attempting to assign a gradient with dtype 'double'"):
        x.grad = real([1.0])
    x.grad_dtype = double
    x.grad = real([1.0])
    with pytest.raises(RuntimeError, match="there is already a gradient with dtype 'double'"):
        x.grad_dtype = single
    x.grad = None
    total(mul(x, tensor([2.0]))).backward()
    assert x.grad.dtype is double
    x.grad_dtype = None
    x.grad = tensor([1.0])
    x.grad = real([1.0])
    with pytest.raises(
        RuntimeError, match=r"grad_dtype must be a dovetail.dtype or None, but got "
    ):
        x.grad_dtype = "float32"
    computed = mul(x, tensor([2.0]))
    with pytest.raises(RuntimeError, match="grad_dtype can only be accessed on leaf tensors"):
        _ = computed.grad_dtype
    with pytest.raises(RuntimeError, match="grad_dtype can only be set on leaf tensors"):
        computed.grad_dtype = single


def test_detach_in_place_leaves_the_graph() -> None:
    x = real([2.0], True)
    y = mul(x, x)
    y.retain_grad()
    y.register_hook(lambda grad: pytest.fail("called"))
    assert y.detach_() is y
    assert y.is_leaf
    assert not y.requires_grad
    assert not y.retains_grad
    total(mul(y, x)).backward()
    assert x.grad.array.tolist() == [4.0]
    view = select(mul(x, x), 0, 0)
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        view.detach_()


def test_a_leaf_that_rests_gets_no_gradient_from_older_graphs() -> None:
    x = real([2.0], True)
    older = total(mul(x, real([3.0])))
    _ = older.grad_fn.next_functions[0][0].next_functions
    x.requires_grad = False
    older.backward(retain_graph=True)
    assert x.grad is None
    x.requires_grad = True
    older.backward()
    assert x.grad.array.tolist() == [3.0]


def test_retain_grad_is_for_what_requires_grad() -> None:
    with pytest.raises(RuntimeError, match="can't retain_grad on Tensor that has requires_grad=Fa"):
        real([1.0]).retain_grad()
    x = real([1.0], True)
    x.retain_grad()
    assert not x.retains_grad
    y = mul(x, x)
    assert not y.retains_grad
    y.retain_grad()
    y.retain_grad()
    assert y.retains_grad


def test_transforms_keep_out_what_would_reach_their_graph() -> None:
    from dovetail_autograd.transforms import grad

    def requiring(x: Any) -> Any:
        x.requires_grad_()
        return total(x)

    def retaining(x: Any) -> Any:
        mul(x, x).retain_grad()
        return total(x)

    def running(x: Any) -> Any:
        total(mul(x, x)).backward()
        return total(x)

    for function, message in (
        (requiring, r"attempting to call Tensor.requires_grad_\(\)"),
        (retaining, r"attempting to call Tensor.retain_grad\(\) inside of a function"),
        (running, r"backward\(\) called inside a functorch transform"),
    ):
        with pytest.raises(RuntimeError, match=message):
            grad(function)(real([1.0]))


# -- backward and grad -----------------------------------------------------------------------------


def test_backward_takes_several_tensors_and_the_old_name_of_their_gradients() -> None:
    x = real([2.0], True)
    first, second = mul(x, x), exp(x)
    autograd.backward([first, second], [real([1.0]), real([0.0])])
    assert x.grad.array.tolist() == [4.0]
    y = mul(x, x)
    with pytest.warns(FutureWarning, match="`grad_variables` is deprecated"):
        autograd.backward([y], grad_variables=[real([10.0])])
    assert x.grad.array.tolist() == [44.0]
    with (
        pytest.warns(FutureWarning),
        pytest.raises(RuntimeError, match=r"`grad_variables` \(deprecated\) arguments both passed"),
    ):
        autograd.backward([y], [real([1.0])], grad_variables=[real([1.0])])
    with pytest.raises(RuntimeError, match=r"argument to `backward\(\)` cannot be empty"):
        autograd.backward([mul(x, x)], [real([1.0])], inputs=[])


@pytest.mark.filterwarnings("ignore:Using backward.. with create_graph=True")
def test_backward_may_be_recorded() -> None:
    x = real(2.0, True)
    autograd.backward([mul(mul(x, x), x)], create_graph=True)
    assert x.grad.array == 12.0
    (second,) = autograd.grad(x.grad, x)
    assert second.array == 12.0
    x.grad = None  # which leads to x


def test_grad_checks_its_options() -> None:
    x = real(2.0, True)
    with pytest.warns(FutureWarning, match="only_inputs argument is deprecated"):
        (found,) = autograd.grad(mul(x, x), x, only_inputs=False)
    assert found.array == 4.0
    with pytest.raises(ValueError, match="Expected allow_unused to be True or not passed"):
        autograd.grad(mul(x, x), x, allow_unused=False, materialize_grads=True)
    with pytest.raises(RuntimeError, match=r"argument to `grad\(\)` cannot be empty"):
        autograd.grad(mul(x, x), [])
    y = real(3.0, True)
    found = autograd.grad(mul(x, x), (x, y), materialize_grads=True, create_graph=True)
    assert found[1].array == 0.0
    assert found[1].requires_grad
    edge = autograd.get_gradient_edge(y)
    with pytest.raises(RuntimeError, match="materialize_grads cannot be used when the given input"):
        autograd.grad(mul(x, x), [edge], materialize_grads=True)


@pytest.mark.parametrize(
    ("tensors", "gradients", "inputs", "message"),
    [
        ([1], (1,), None, "tensors argument is expected to be a tuple, but got list"),
        ((1,), [1], None, "grad_tensors argument is expected to be a tuple, but got list"),
        ((1, 2), (1,), None, "got 2 tensors and 1 gradients"),
        ((1,), (1,), None, "element 0 of tensors tuple is neither a Tensor nor a GradientEdge"),
        ((real(1.0),), (None,), None, "element 0 of tensors does not require grad"),
        ((real(1.0, True),), (None,), None, "element 0 of gradients tuple is None, but"),
        ((real(1.0, True),), (3,), None, "gradients tuple is not a Tensor or None, but int"),
        ((real(1.0, True),), (real(1.0),), [1], "inputs to run_backward must be a tuple"),
        ((real(1.0, True),), (real(1.0),), (), "grad requires non-empty inputs"),
        ((real(1.0, True),), (real(1.0),), (real(1.0),), "does not require grad"),
        ((real(1.0, True),), (real(1.0),), (real(1.0, True),), "index 0 appears to not have been"),
    ],
)
def test_the_engine_checks_what_it_is_given(
    tensors: Any, gradients: Any, inputs: Any, message: str
) -> None:
    with pytest.raises(RuntimeError, match=message):
        autograd.default_engine.run_backward(tensors, gradients, False, False, inputs)


def test_the_engine_may_be_run_by_hand() -> None:
    x = real([2.0], True)
    y = mul(x, x)
    engine = autograd.default_engine
    assert type(engine).get_default_engine() is engine
    root = autograd.GraphRoot([autograd.get_gradient_edge(y)[:2]], [real([1.0])])
    task = autograd.GraphTask(keep_graph=True)
    engine.compute_dependencies(root, task)
    engine.execute_with_graph_task(task, root, autograd.InputBuffer())
    assert x.grad.array.tolist() == [4.0]
    task = autograd.GraphTask(keep_graph=True)
    engine.compute_dependencies(root, task)
    task.ready_queue.push(root, autograd.InputBuffer())
    engine.thread_main(task)
    assert x.grad.array.tolist() == [8.0]
    task = autograd.GraphTask(keep_graph=True)
    engine.compute_dependencies(root, task)
    queue = task.ready_queue
    assert queue.empty()
    queue.push(root, autograd.InputBuffer())
    steps = 0
    while not queue.empty():
        ready = queue.pop()
        engine.evaluate_function(task, ready.fn, ready.inputs, queue)
        steps += 1
    assert steps == 3
    assert x.grad.array.tolist() == [12.0]


def test_checkpoints_are_for_runs_to_all_leaves() -> None:
    seen = []
    x = real([2.0], True)
    y = total(mul(x, x))
    y.grad_fn.register_hook(lambda *_: seen.append(autograd.default_engine.is_checkpoint_valid()))
    y.backward(retain_graph=True)
    autograd.grad(y, x)
    assert seen == [True, False]
    assert autograd.default_engine.is_checkpoint_valid()
    with pytest.raises(RuntimeError, match="Final callbacks can only be installed during backward"):
        autograd.default_engine.queue_callback(lambda: None)


def test_versions_may_be_raised_by_hand() -> None:
    x = mul(real([2.0], True), real([1.0]))
    y = mul(x, x)
    autograd.increment_version(x)
    autograd.increment_version([x])
    assert x._version == 2
    with pytest.raises(RuntimeError, match="is at version 2"):
        total(y).backward()


def test_a_view_made_in_inference_mode_knows_its_base_also_when_a_dispatch_mode_makes_it() -> None:
    class Runs(TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return func(*args, **(kwargs or {}))

    whole = mul(real([1.0, 2.0], requires_grad=True), real([2.0, 2.0]))
    with autograd.inference_mode(), Runs():
        view = select(whole, 0, 0)
    assert view._base is whole
    with pytest.raises(RuntimeError, match="created in inference mode"):
        mul_(view, 3)  # the graph of `whole` would not know
