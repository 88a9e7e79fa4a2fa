"""Backwards inside backwards, traces, operators that change views, and rarer derivatives."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from small_library import close, needs_base, real

import dovetail_autograd as autograd
from dovetail_autograd import Function, GradcheckError, gradcheck, gradgradcheck
from dovetail_autograd.forward_ad import dual_level, make_dual, unpack_dual
from dovetail_autograd.transforms import grad, jacrev, jvp, vjp, vmap
from dovetail_dispatcher import Trace, ops

aten: Any = ops.aten
mul, add, exp = aten.mul.Tensor, aten.add.Tensor, aten.exp.default
total, clone, select = aten.sum.default, aten.clone.default, aten.select.int
add_, mul_, copy_ = aten.add_.Tensor, aten.mul_.Tensor, aten.copy_.default
# -- backwards inside backwards --------------------------------------------------------------------


def nested(depth: int, threads: set[int], fails: bool = False) -> Any:
    class Nested(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return mul(x, x)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            threads.add(threading.get_ident())
            if depth == 0:
                if fails:
                    raise KeyError("the innermost")
                return mul(grad, add(x, x))
            with autograd.enable_grad():
                leaf = aten.detach.default(x)
                leaf.requires_grad = True
                (found,) = autograd.grad(total(nested(depth - 1, threads, fails)(leaf)), leaf)
            assert autograd.current_graph_task() is not None
            return mul(grad, found)

    return Nested.apply


@pytest.mark.parametrize("depth", [1, 3, 70])
def test_backwards_nest_to_any_depth(depth: int) -> None:
    threads: set[int] = set()
    x = real([3.0], True)
    total(nested(depth, threads)(x)).backward()
    close(x.grad, [6.0])
    assert (len(threads) > 1) is (depth > 60)
    assert autograd.current_graph_task() is None


@pytest.mark.parametrize("depth", [1, 70])
def test_an_error_comes_out_of_every_depth(depth: int) -> None:
    x = real([3.0], True)
    with pytest.raises(KeyError, match="the innermost"):
        total(nested(depth, set(), fails=True)(x)).backward()
    assert x.grad is None
    assert autograd.current_graph_task() is None
    assert autograd.is_grad_enabled()


def test_what_a_hook_raises_leaves_everything_as_it_was() -> None:
    x = real([3.0], True)
    hidden = mul(x, x)
    handle = hidden.register_hook(lambda grad: 1 / 0)
    loss = total(hidden)
    with pytest.raises(ZeroDivisionError):
        loss.backward(retain_graph=True)
    assert autograd.current_graph_task() is None
    assert autograd.current_autograd_node() is None
    handle.remove()
    loss.backward()
    close(x.grad, [6.0])


def test_a_captured_gradient_is_not_written_by_who_comes_after() -> None:
    class Writing(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return clone(x)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            grad.array[...] *= 100
            return grad

    x = real([1.0, 2.0], True)
    hidden = Writing.apply(x)
    of_hidden, of_x = autograd.grad(mul(hidden, real([3.0, 4.0])), (hidden, x), real([1.0, 1.0]))
    close(of_hidden, [3.0, 4.0])
    close(of_x, [300.0, 400.0])


@pytest.mark.parametrize("mode", ["arrays", "tensors"])
def test_a_traced_backward_has_a_span_per_node(mode: str) -> None:
    x = real([1.0, 2.0], True)
    if mode == "tensors":
        x.register_hook(lambda grad: None)
    loss = total(mul(x, exp(x)))
    with Trace() as trace:
        loss.backward()
    close(x.grad, np.exp([1.0, 2.0]) * [2.0, 3.0])
    spans = {span.name.rpartition("::")[2].rstrip("0"): span for span in trace.spans}
    nodes = [name for name in spans if name.endswith(("Backward", "AccumulateGrad"))]
    assert nodes == ["SumBackward", "MulBackward", "ExpBackward", "AccumulateGrad"]
    assert "aten::mul.Tensor" in [span.name for span in spans["ExpBackward"].children]


# -- operators that change a view in place ---------------------------------------------------------


@needs_base
@pytest.mark.parametrize(
    ("change", "shape"),
    [
        (lambda x: aten.transpose_(x, 1, 0), (3, 2)),
        (lambda x: aten.transpose_(x, 0, 1), (3, 2)),
        (lambda x: aten.unsqueeze_(x, 0), (1, 2, 3)),
        (lambda x: aten.squeeze_(aten.unsqueeze_(x, 1)), (2, 3)),
    ],
)
def test_a_tensor_that_becomes_another_view_of_itself_has_its_gradient(
    change: Any, shape: Any
) -> None:
    values = np.arange(1.0, 7.0).reshape(2, 3)
    weights = np.arange(2.0, 8.0).reshape(shape)
    x = real(values, True)
    hidden = mul(x, real(2.0))
    assert change(hidden) is hidden
    assert tuple(hidden.shape) == shape
    total(mul(hidden, real(weights))).backward()
    turned = weights.T if shape == (3, 2) else weights.reshape(2, 3)
    close(x.grad, 2 * turned)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        change(x)
    base = mul(real(values, True), real(2.0))
    view = aten.slice.Tensor(base, 0, 0, 2)
    view.retain_grad()
    change(view)
    mul_(view, real(3.0))
    total(mul(view, real(weights))).backward()
    close(view.grad, weights)
    close(base, 6 * values)
    with pytest.raises(RuntimeError, match="captured"):
        grad(lambda y: (change(base), total(y))[1])(real([1.0]))


@needs_base
def test_a_view_of_a_view_that_was_turned_is_written() -> None:
    x = real(np.arange(6.0).reshape(2, 3), True)
    base = mul(x, real(1.0))
    turned = aten.transpose.int(base, 0, 1)
    row = select(turned, 0, 1)
    mul_(row, real([10.0, 100.0]))
    close(base, np.arange(6.0).reshape(2, 3) * [[1, 10, 1], [1, 100, 1]])
    total(mul(turned, turned)).backward()
    scale = np.array([[1, 10, 1], [1, 100, 1]])
    close(x.grad, 2 * np.arange(6.0).reshape(2, 3) * scale**2)


# -- rarer derivatives -----------------------------------------------------------------------------


@needs_base
def test_gradients_of_several_results_with_a_mask_are_differentiated_again() -> None:
    def convolve(x: Any, weight: Any) -> Any:
        return aten.convolution(x, weight, None, [1], [1], [1], False, [0], 1)

    rng = np.random.default_rng(0)
    x = real(rng.standard_normal((1, 2, 3)), True)
    weight = real(rng.standard_normal((2, 2, 3)), True)
    assert gradcheck(convolve, (x, weight), fast_mode=True)
    assert gradgradcheck(convolve, (x, weight), fast_mode=True)
    fixed = aten.detach(weight)
    assert gradgradcheck(lambda x: convolve(x, fixed), x, fast_mode=True)


@needs_base
@pytest.mark.parametrize("kind", ["batch", "layer"])
def test_gradients_of_normalization_are_differentiated_again(kind: str) -> None:
    def normalize(x: Any, weight: Any, bias: Any) -> Any:
        if kind == "batch":
            return aten.native_batch_norm(x, weight, bias, None, None, True, 0.1, 1e-5)[0]
        return aten.native_layer_norm(x, [2], weight, bias, 1e-5)[0]

    rng = np.random.default_rng(0)
    given = [real(rng.standard_normal(size), True) for size in ((3, 2), (2,), (2,))]
    assert gradcheck(normalize, given, fast_mode=True, check_forward_ad=True)
    assert gradgradcheck(normalize, given, fast_mode=True)


def test_a_message_of_gradcheck_begins_with_what_differs() -> None:
    class Wrong(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return clone(x)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return add(grad, grad)

    with pytest.raises(GradcheckError, match=r"^Jacobian mismatch for output 0 with respect to in"):
        gradcheck(Wrong.apply, real([1.0], True))


# -- functions of named arguments, shared calls ----------------------------------------------------


class Named(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any, *, weight: Any, factor: Any) -> Any:
        return mul(mul(x, weight), factor)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        x, weight, factor = ctx.saved_tensors
        scaled = mul(grad, factor)
        return mul(scaled, weight), mul(scaled, x), None

    @staticmethod
    def jvp(ctx: Any, of_x: Any, of_weight: Any, of_factor: Any) -> Any:
        x, weight, factor = ctx.saved_tensors
        return mul(add(mul(of_x, weight), mul(x, of_weight)), factor)


def test_a_generated_rule_hands_named_arguments_on() -> None:
    rows, weights = np.arange(6.0).reshape(3, 2), np.arange(1.0, 3.0)
    x, weight, factor = real(rows, True), real(weights, True), real(5.0)

    def function(x: Any, weight: Any) -> Any:
        return vmap(lambda row: Named.apply(row, weight=weight, factor=factor))(x)

    close(function(x, weight), rows * weights * 5)
    total(function(x, weight)).backward()
    close(x.grad, np.tile(weights * 5, (3, 1)))
    close(weight.grad, 5 * rows.sum(0))
    _, tangent = jvp(function, (real(rows), real(weights)), (real(rows), real(weights)))
    close(tangent, 2 * rows * weights * 5)
    close(jacrev(function, 1)(real(rows), real(weights)), 5 * rows[:, :, None] * np.eye(2))


class Constant(Function):
    """The sum of what all samples share, with a gradient that is told from outside."""

    generate_vmap_rule = True
    returned: Any = None

    @staticmethod
    def forward(x: Any) -> Any:
        return clone(x)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None: ...

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return Constant.returned(grad)


def test_a_shared_call_gives_what_it_would_give_alone() -> None:
    x = real([2.0, 3.0], True)
    Constant.returned = staticmethod(lambda grad: mul(grad, real([5.0, 7.0])))
    found = vmap(lambda row: mul(row, Constant.apply(x)))(real([[1.0, 10.0], [100.0, 1000.0]]))
    total(found).backward()
    close(x.grad, [101.0 * 5, 1010.0 * 7])


@needs_base
def test_gradients_of_shared_inputs_are_summed_over_the_samples() -> None:
    class Weighted(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any, w: Any) -> Any:
            return mul(x, w)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(inputs[1])

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (w,) = ctx.saved_tensors
            return mul(grad, w), w  # that of w is the same for each sample

    x, w = real(np.ones((4, 2)), True), real([3.0, 5.0], True)
    total(vmap(Weighted.apply, in_dims=(0, None))(x, w)).backward()
    close(x.grad, np.tile([3.0, 5.0], (4, 1)))
    close(w.grad, [12.0, 20.0])


# -- saved outputs and hooks -----------------------------------------------------------------------


@pytest.mark.parametrize("hooked", [False, True])
def test_an_output_that_a_function_saved_is_itself_in_the_graph(hooked: bool) -> None:
    class Exp(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = exp(x)
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            x, y = ctx.saved_tensors
            assert x.is_leaf
            assert y.grad_fn is ctx
            return mul(grad, y)

    x = real([0.5], True)
    shapes = []
    hooks = autograd.saved_tensors_hooks(
        lambda t: (shapes.append(tuple(t.shape)), t)[1], lambda t: t
    )
    if hooked:
        with hooks:
            y = Exp.apply(x)
        assert shapes == [(1,), (1,)]
    else:
        y = Exp.apply(x)
    (first,) = autograd.grad(y, x, real([1.0]), create_graph=True)
    close(first, np.exp([0.5]))
    (second,) = autograd.grad(first, x, real([1.0]))
    close(second, np.exp([0.5]))


def test_a_loaded_handle_keeps_later_numbers_apart() -> None:
    handle = autograd.RemovableHandle(autograd.graph.hooks.Hooks())
    state = handle.__getstate__()
    later = handle.id + 1000
    handle.__setstate__((state[0], later, state[2]))
    assert handle.id == later
    assert autograd.RemovableHandle(autograd.graph.hooks.Hooks()).id == later + 1


# -- writes of tangents ----------------------------------------------------------------------------


def test_a_sample_writes_a_tangent_into_what_is_dual_outside() -> None:
    rows = np.arange(1.0, 7.0).reshape(3, 2)

    def function(v: Any) -> Any:
        with dual_level():
            x = make_dual(real([1.0, 1.0]), real([0.0, 0.0]))
            y = clone(x)
            add_(y, make_dual(real([1.0, 1.0]), v))
            mul_(select(y, 0, 1), real(10.0))
            return unpack_dual(y).tangent

    close(vmap(function)(real(rows)), rows * [1.0, 10.0])


def test_writes_to_a_view_of_what_becomes_dual_in_a_transform() -> None:
    def function(x: Any) -> Any:
        memory = mul(real([[1.0, 2.0], [3.0, 4.0]]), real(1.0))
        mul_(select(memory, 1, 0), x)
        return total(mul(memory, memory))

    x = np.array([5.0, 7.0])
    expected = 2 * np.array([1.0, 3.0]) ** 2 * x
    _, tangent = jvp(function, (real(x),), (real([1.0, 10.0]),))
    close(tangent, expected @ [1.0, 10.0])
    close(grad(function)(real(x)), expected)
    close(vjp(function, real(x))[1](real(2.0))[0], 2 * expected)


@needs_base
def test_a_write_to_a_base_that_overlaps_itself_has_no_tangent() -> None:
    overlapping = aten.detach(aten.as_strided(real(np.ones(3)), [2, 2], [1, 1], 0))
    with dual_level():
        value = make_dual(real([1.0, 1.0]), real([1.0, 2.0]))
        with pytest.raises(
            RuntimeError, match=r"if the base overlaps itself: it has shape \[2, 2\]"
        ):
            copy_(select(overlapping, 0, 0), value)
