"""Operators whose derivative was registered with `register_autograd`."""

from __future__ import annotations

import numpy as np
import pytest
from small_library import tensor

from dovetail_dispatcher import Library, ops
from dovetail_dispatcher.registration.register import register_autograd

total = ops.aten.sum.default


@pytest.fixture
def library():
    library = Library("formulas", "DEF")
    library.define("scale(Tensor x, float factor) -> Tensor")
    library.array_impl("scale", lambda x, factor: x * np.float32(factor), "CPU")
    library.define("join(Tensor[] xs) -> Tensor")
    library.array_impl("join", np.stack, "CPU")
    library.define("both(Tensor x) -> (Tensor, Tensor)")
    library.array_impl("both", lambda x: (x + 1, x * 2), "CPU")
    yield library
    library._destroy()


def scale_backward(ctx, grad):
    return ops.formulas.scale.default(grad, ctx.factor), None


def save_factor(ctx, inputs, output):
    ctx.factor = inputs[1]


def test_the_registered_backward_runs(library):
    register_autograd("formulas::scale", scale_backward, setup_context=save_factor, lib=library)
    x = tensor([1.0, 2.0], True)
    y = ops.formulas.scale.default(x, 3.0)
    assert y.grad_fn.name() == "GeneratedBackwardFor_formulas_scale_defaultBackward"
    total(y).backward()
    assert x.grad.array.tolist() == [3.0, 3.0]


def test_a_wrong_number_of_gradients_is_refused(library):
    register_autograd(
        "formulas::scale", lambda ctx, grad: grad, setup_context=save_factor, lib=library
    )
    y = ops.formulas.scale.default(tensor([1.0], True), 3.0)
    with pytest.raises(
        RuntimeError, match=r"returned an incorrect number of gradients \(expected 2, got 1\)"
    ):
        total(y).backward()


def unpack_one(ctx, grad):
    (x,) = ctx.saved_tensors
    return grad * x, None


@pytest.mark.parametrize(
    "backward",
    [
        lambda ctx, grad: (grad * ctx.factor, None),
        lambda ctx, grad: (ctx.saved_tensors[0], None),
        unpack_one,
    ],
)
def test_a_backward_that_misses_its_setup_context_is_told_so(library, backward):
    register_autograd("formulas::scale", backward, lib=library)
    y = total(ops.formulas.scale.default(tensor([1.0], True), 3.0))
    with pytest.raises(
        (AttributeError, IndexError, ValueError),
        match=r"registered without setup_context, at .*test_registered_formulas\.py:\d+",
    ):
        y.backward()


def test_another_error_of_a_backward_without_setup_context_stays_as_it_is(library):
    def backward(ctx, grad):
        raise ValueError("of its own")

    register_autograd("formulas::scale", backward, lib=library)
    with pytest.raises(ValueError, match=r"^of its own$"):
        total(ops.formulas.scale.default(tensor([1.0], True), 3.0)).backward()


def test_lists_come_and_go_as_lists(library):
    register_autograd(
        "formulas::join", lambda ctx, grad: [list(ops.aten.unbind.int(grad))], lib=library
    )
    x, y = tensor([1.0], True), tensor([2.0], True)
    total(ops.formulas.join.default([x, y])).backward()
    assert (x.grad.array.tolist(), y.grad.array.tolist()) == ([1.0], [1.0])


def test_a_list_needs_a_list_of_its_length(library):
    register_autograd("formulas::join", lambda ctx, grad: [[grad]], lib=library)
    y = ops.formulas.join.default([tensor([1.0], True), tensor([2.0], True)])
    with pytest.raises(
        RuntimeError,
        match="Expected the return from backward to be of the same structure as the inputs",
    ):
        total(y).backward()


def test_undefined_gradients_of_results_are_zeros(library):
    given = []
    register_autograd(
        "formulas::both", lambda ctx, a, b: (given.append(b.array.tolist()), a)[1], lib=library
    )
    a, _ = ops.formulas.both.default(tensor([1.0], True))
    total(a).backward()
    assert given == [[0.0]]


def test_nothing_is_recorded_for_inputs_that_do_not_require_grad(library):
    register_autograd("formulas::scale", scale_backward, setup_context=save_factor, lib=library)
    assert ops.formulas.scale.default(tensor([1.0]), 3.0).grad_fn is None
