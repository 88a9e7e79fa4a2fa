"""A linear layer is computed and recorded as one call, and nobody can tell."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from threading import Barrier, Thread
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dovetail
from dovetail import Tensor
from dovetail.autograd.graph import GradientEdge, Node, get_gradient_edge, saved_tensors_hooks
from dovetail.library import Library
from dovetail.nn import functional as F
from dovetail.utils._python_dispatch import TorchDispatchMode

pytestmark = pytest.mark.cpu_only(reason="which calls are fused is asked about the cpu")


def linear_in_parts(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return dovetail.addmm(bias, x, weight.t())


def assert_close(found: Tensor, expected: Tensor) -> None:
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    tolerance = {2: 2e-2, 4: 1e-5, 8: 1e-12}[found.dtype.itemsize]
    assert dovetail.allclose(
        found.double(), expected.double(), rtol=tolerance, atol=tolerance, equal_nan=True
    )


def is_fused(tensor: Tensor) -> bool:
    """Look at the node without having it presented."""
    return tensor._grad_fn._fusion is not None and not isinstance(tensor._grad_fn.inner, Node)


def layer(dtype: Any = dovetail.float64) -> tuple[Tensor, Tensor, Tensor]:
    generator = dovetail.Generator().manual_seed(0)
    sizes: tuple[tuple[int, ...], ...] = ((4, 3), (2, 3), (2,))
    x, weight, bias = [
        dovetail.randn(*size, dtype=dtype, generator=generator).requires_grad_() for size in sizes
    ]
    return x, weight, bias


def graph_of(node: Any) -> Any:
    return (
        None if node is None else (node.name(), [graph_of(each) for each, _ in node.next_functions])
    )


def gradients_of(f: Callable[..., Tensor], *inputs: Tensor) -> list[Tensor | None]:
    out = f(*inputs)
    return list(dovetail.autograd.grad(out, inputs, dovetail.ones_like(out), allow_unused=True))


# -- what is fused ---------------------------------------------------------------------------------


def test_a_linear_layer_with_bias_on_a_matrix_is_fused():
    assert is_fused(F.linear(*layer()))


@pytest.mark.parametrize(
    "call",
    [
        lambda x, w, b: F.linear(x, w),
        lambda x, w, b: F.linear(x[0], w, b),
        lambda x, w, b: F.linear(x[None], w, b),
        lambda x, w, b: F.linear(x, w.detach(), b),
        lambda x, w, b: F.linear(x, w[:], b),
        lambda x, w, b: F.linear(x.cfloat(), w.cfloat(), b.cfloat()),
        lambda x, w, b: F.cross_entropy(x, dovetail.tensor([0, 1, 2, 0])),
    ],
)
def test_other_calls_are_made_of_their_parts(call: Callable[..., Tensor]):
    result = call(*layer())
    assert result.requires_grad
    assert not is_fused(result)


def test_nothing_is_recorded_where_nothing_requires_grad():
    x, weight, bias = layer()
    with dovetail.no_grad():
        assert F.linear(x, weight, bias).grad_fn is None
    assert F.linear(x.detach(), weight.detach(), bias.detach()).grad_fn is None


def test_a_linear_layer_is_one_kernel_where_nothing_is_recorded():
    x, weight, bias = [each.detach() for each in layer()]
    with dovetail.inference_mode():
        assert F.linear(x, weight, bias).is_inference()
    with dovetail.no_grad():
        assert not F.linear(x, weight, bias).is_inference()
    for view in (weight, weight[:], weight.t().contiguous().t()):
        assert_close(F.linear(x, view, bias), linear_in_parts(x, view, bias))
    route = str(dovetail.explain(dovetail.ops.aten.linear.default, x, weight, bias).route)
    assert "helper(" in route
    assert "addmm" not in route


# -- what is computed ------------------------------------------------------------------------------


@settings(deadline=None)  # a first call composes its route
@given(
    rows=st.integers(0, 4),
    columns=st.integers(0, 4),
    outputs=st.integers(0, 4),
    bias_size=st.booleans(),
    requires=st.tuples(st.booleans(), st.booleans()),
    dtype=st.sampled_from(
        [dovetail.float32, dovetail.float64, dovetail.float16, dovetail.bfloat16]
    ),
)
def test_a_linear_layer_gives_what_its_parts_give(
    rows, columns, outputs, bias_size, requires, dtype
):
    x = dovetail.randn(rows, columns).to(dtype).requires_grad_(requires[0])
    weight = dovetail.randn(outputs, columns).to(dtype).requires_grad_()
    bias = dovetail.randn(1 if bias_size else outputs).to(dtype).requires_grad_(requires[1])
    inputs = [each for each in (x, weight, bias) if each.requires_grad]
    found, expected = F.linear(x, weight, bias), linear_in_parts(x, weight, bias)
    assert_close(found, expected)
    seed = dovetail.ones_like(found)
    for kept in (True, False):  # before somebody looks, and after
        gradients = dovetail.autograd.grad(found, inputs, seed, retain_graph=True)
        wanted = dovetail.autograd.grad(expected, inputs, seed, retain_graph=kept)
        for gradient, want in zip(gradients, wanted, strict=True):
            assert_close(gradient, want)
        assert graph_of(found.grad_fn) == graph_of(expected.grad_fn)
    for each in inputs:
        each.grad = None
    fused = F.linear(x, weight, bias)
    fused.backward(seed)
    for each, want in zip(inputs, wanted, strict=True):
        assert_close(each.grad, want)
        assert each.grad.stride() == each.stride() or 0 in each.shape


def test_wrong_shapes_are_refused_in_the_words_of_the_parts():
    x, weight, bias = layer()
    for arguments in ((x, weight.t(), bias), (x, weight, dovetail.ones(3, dtype=x.dtype))):
        with pytest.raises(RuntimeError) as expected:
            linear_in_parts(*arguments)
        with pytest.raises(RuntimeError) as found:
            F.linear(*arguments)
        assert str(found.value) == str(expected.value)


def test_a_linear_layer_can_be_differentiated_twice():
    assert dovetail.autograd.gradgradcheck(F.linear, layer())


# -- whoever looks sees two nodes ------------------------------------------------------------------


def test_the_graph_is_that_of_the_parts():
    x, weight, bias = layer()
    fused, parts = F.linear(x, weight, bias), linear_in_parts(x, weight, bias)
    assert graph_of(fused.grad_fn) == graph_of(parts.grad_fn)
    assert fused.grad_fn is fused.grad_fn
    hidden = fused.grad_fn.next_functions[2][0]
    assert hidden is fused.grad_fn.next_functions[2][0]
    assert hidden._sequence_nr() < fused.grad_fn._sequence_nr()


def test_the_saved_values_are_those_of_the_parts():
    x, weight, bias = layer()
    fused, parts = F.linear(x, weight, bias).grad_fn, linear_in_parts(x, weight, bias).grad_fn
    for name in [each for each in dir(parts) if each.startswith("_saved_")]:
        found, expected = getattr(fused, name), getattr(parts, name)
        if isinstance(expected, Tensor):
            assert found.tolist() == expected.tolist()
            assert graph_of(found.grad_fn) == graph_of(expected.grad_fn)
            assert (found._base is weight) == (expected._base is weight)
            assert found._version == expected._version
        else:
            assert found == expected


def test_values_that_were_freed_stay_freed():
    x, weight, bias = layer()
    out = F.linear(x, weight, bias)
    loss = out.sum()
    loss.backward()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="a second time"):
            loss.backward()
        graph_of(loss.grad_fn)
    with pytest.raises(RuntimeError, match="a second time"):
        _ = out.grad_fn._saved_mat2


@pytest.mark.parametrize("looked", [False, True])
@pytest.mark.parametrize("position", [0, 1])
def test_a_saved_tensor_that_was_written_is_noticed(position: int, looked: bool):
    inputs = layer()
    out = F.linear(*inputs)
    if looked:
        graph_of(out.grad_fn)
    with dovetail.no_grad():
        inputs[position].mul_(2)
    with pytest.raises(
        RuntimeError,
        match=r"modified by an inplace operation.* is at version 2; expected version 1",
    ):
        out.sum().backward()


@pytest.mark.parametrize("looked", [False, True])
def test_a_weight_that_is_given_other_data_was_saved_with_its_old(looked: bool):
    x, weight, bias = layer()
    old = weight.detach().clone()
    out = F.linear(x, weight, bias)
    weight.data = dovetail.zeros_like(weight)
    if looked:
        graph_of(out.grad_fn)
    out.sum().backward()
    assert x.grad.tolist() == (dovetail.ones_like(out) @ old).tolist()


def test_hooks_on_the_hidden_node_run():
    x, weight, bias = layer()
    out = F.linear(x, weight, bias)
    seen = []
    out.grad_fn.next_functions[2][0].register_hook(
        lambda inputs, outputs: seen.append(inputs[0].shape)
    )
    out.grad_fn.register_prehook(lambda grads: seen.append(grads[0].shape))
    out.sum().backward()
    assert seen == [(4, 2), (2, 3)]


def test_a_gradient_can_be_kept_and_asked_for_on_the_way():
    x, weight, bias = layer()
    hidden = F.linear(x, weight, bias)
    hidden.retain_grad()
    hidden.register_hook(lambda grad: grad * 2)
    out = hidden.sum()
    assert get_gradient_edge(hidden).node is hidden.grad_fn
    (found,) = dovetail.autograd.grad(
        out, [GradientEdge(*hidden.grad_fn.next_functions[2])], retain_graph=True
    )
    assert found.shape == (3, 2)
    hidden.grad = None
    out.backward()
    assert hidden.grad.tolist() == [[2.0, 2.0]] * 4
    assert weight.grad.tolist() == found.t().tolist()


def test_saved_tensor_hooks_get_what_the_parts_save():
    x, weight, bias = layer()
    packed = []

    def pack(tensor: Tensor) -> Tensor:
        packed.append(tuple(tensor.shape))
        return tensor

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        F.linear(x, weight, bias).sum().backward()
    assert sorted(packed) == [(3, 2), (4, 3)]


def test_a_gradient_taken_by_inputs_is_the_same():
    x, weight, bias = layer()
    F.linear(x, weight, bias).sum().backward(inputs=[weight])
    assert x.grad is None
    assert weight.grad.tolist() == gradients_of(linear_in_parts, x, weight, bias)[1].tolist()


def test_a_thread_that_looks_does_not_disturb_one_that_differentiates():
    x, weight, bias = layer()
    weight = dovetail.randn(
        3, 3, dtype=x.dtype, requires_grad=True
    )  # square, so that a wrong side would not raise
    bias = dovetail.zeros(3, dtype=x.dtype, requires_grad=True)
    (expected,) = dovetail.autograd.grad(linear_in_parts(x, weight, bias).exp().sum(), [weight])
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(100):
            out = F.linear(x, weight, bias).exp().sum()
            barrier = Barrier(2)

            def look(out: Tensor = out, barrier: Barrier = barrier) -> None:
                barrier.wait()
                graph_of(out.grad_fn)

            thread = Thread(target=look)
            thread.start()
            weight.grad = None
            barrier.wait()
            out.backward(retain_graph=True)
            thread.join()
            assert_close(weight.grad, expected)
    finally:
        sys.setswitchinterval(interval)


# -- whoever stands between is called --------------------------------------------------------------


@pytest.fixture
def library() -> Iterator[Library]:
    made = Library("aten", "IMPL")
    yield made
    made._destroy()


def test_a_kernel_put_over_a_part_is_called_until_it_is_taken_away(library: Library):
    x, weight, bias = layer()
    assert is_fused(F.linear(x, weight, bias))
    library.impl("addmm", lambda self, mat1, mat2, **options: mat1 @ mat2, "CPU")
    assert F.linear(x, weight, bias).tolist() == (x @ weight.t()).tolist()
    library._destroy()
    assert F.linear(x, weight, bias).tolist() == linear_in_parts(x, weight, bias).tolist()
    assert is_fused(F.linear(x, weight, bias))


def test_a_kernel_put_over_the_composite_is_called(library: Library):
    x, weight, bias = layer()
    library.impl(
        "linear", lambda x, w, b: x.exp(), "CompositeImplicitAutograd", allow_override=True
    )
    assert F.linear(x, weight, bias).tolist() == x.exp().tolist()


def test_a_dispatch_mode_sees_the_parts():
    class Log(TorchDispatchMode):
        def __init__(self) -> None:
            super().__init__()
            self.names: list[str] = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.names.append(str(func))
            return func(*args, **kwargs or {})

    x, weight, bias = layer()
    with Log() as log:
        F.linear(x, weight, bias)
    assert log.names == ["aten.t.default", "aten.addmm.default"]


def test_explain_says_that_a_call_is_fused():
    text = str(dovetail.explain(dovetail.ops.aten.linear, *layer()))
    assert "composite: aten::addmm of aten::t, computed and recorded as one call" in text
    assert "a graph is recorded" in text
