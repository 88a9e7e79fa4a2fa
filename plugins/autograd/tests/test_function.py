"""Function: forward, backward and the context."""

from __future__ import annotations

import pytest
from small_library import tensor

import dovetail_autograd as autograd
from dovetail_autograd import Function, once_differentiable
from dovetail_dispatcher import ops

mul, add = ops.aten.mul.Tensor, ops.aten.add.Tensor
total = ops.aten.sum.default


def make(forward, backward, **more):
    return type(
        "F",
        (Function,),
        {"forward": staticmethod(forward), "backward": staticmethod(backward), **more},
    )


class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.note = "kept"
        return mul(x, x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return mul(grad, add(x, x))


def test_the_gradient_is_what_backward_returns():
    x = tensor([3.0], True)
    total(Square.apply(x)).backward()
    assert x.grad.array.tolist() == [6.0]


def test_the_context_is_the_node():
    y = Square.apply(tensor([3.0], True))
    assert y.grad_fn.note == "kept"
    assert y.grad_fn.name() == "SquareBackward"
    assert y.grad_fn.needs_input_grad == (True,)


ATTRIBUTES = [
    "backend",
    "hooks",
    "is_leaf",
    "is_formula",
    "formula",
    "release",
    "keep",
    "dirty",
    "is_tensor",
]
ATTRIBUTES += [
    "num_outputs",
    "describe_outputs",
    "_saved",
    "_outputs",
    "arrays",
    "inputs",
    "shape",
    "dtype",
]


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_an_attribute_of_any_such_name_is_the_users(attribute):
    note = object()
    read = []

    def forward(ctx, x):
        ctx.save_for_backward(x)
        setattr(ctx, attribute, note)
        return mul(x, x), add(x, x)

    def backward(ctx, first, second):
        (x,) = ctx.saved_tensors
        read.append(getattr(ctx, attribute))
        return add(mul(first, add(x, x)), add(second, second))

    x = tensor([3.0], True)
    square, double = make(forward, backward).apply(x)
    assert getattr(square.grad_fn, attribute) is note
    square.grad_fn.register_hook(lambda grads, _: None)
    total(add(square, double)).backward()
    assert read == [note]
    assert x.grad.array.tolist() == [8.0]


def test_forward_runs_without_grad_mode():
    modes = []
    f = make(
        lambda ctx, x: (modes.append(autograd.is_grad_enabled()), mul(x, x))[1], lambda ctx, g: g
    )
    f.apply(tensor([1.0], True))
    assert modes == [False]


def test_setup_context_gets_inputs_and_output():
    seen = []

    class Scale(Function):
        @staticmethod
        def forward(x, factor):
            return mul(x, factor)

        @staticmethod
        def setup_context(ctx, inputs, output):
            seen.append((len(inputs), output.array.item()))
            ctx.save_for_backward(inputs[1])

        @staticmethod
        def backward(ctx, grad):
            return mul(grad, ctx.saved_tensors[0]), None

    x = tensor([2.0], True)
    total(Scale.apply(x, tensor([5.0]))).backward()
    assert seen == [(2, 10.0)]
    assert x.grad.array.tolist() == [5.0]


def test_trailing_none_gradients_are_dropped():
    x = tensor([2.0], True)
    total(make(lambda ctx, x: mul(x, x), lambda ctx, g: (g, None, None)).apply(x)).backward()
    assert x.grad.array.tolist() == [1.0]


def test_too_few_gradients_are_refused():
    y = make(lambda ctx, x, n: mul(x, x), lambda ctx, g: g).apply(tensor([1.0], True), 3)
    message = r"function FBackward returned an incorrect number of gradients \(expected 2, got 1\)"
    with pytest.raises(RuntimeError, match=message):
        total(y).backward()


def test_a_gradient_for_what_is_no_tensor_is_refused():
    y = make(lambda ctx, x, n: mul(x, x), lambda ctx, g: (g, g)).apply(tensor([1.0], True), 3)
    message = (
        "returned a gradient different than None at position 2, "
        "but the corresponding forward input was not"
    )
    with pytest.raises(RuntimeError, match=message):
        total(y).backward()


def test_a_gradient_that_is_no_tensor_is_refused():
    y = make(lambda ctx, x: mul(x, x), lambda ctx, g: 3).apply(tensor([1.0], True))
    with pytest.raises(RuntimeError, match=r"expected Variable or None \(got int\)"):
        total(y).backward()


def test_a_gradient_of_the_wrong_shape_is_refused():
    y = make(lambda ctx, x: mul(x, x), lambda ctx, g: tensor([1.0, 2.0, 3.0])).apply(
        tensor([1.0, 2.0], True)
    )
    message = (
        r"Function FBackward returned an invalid gradient at index 0 "
        r"- got \[3\] but expected shape compatible with"
    )
    with pytest.raises(RuntimeError, match=message):
        total(y).backward()


def test_only_tensors_can_be_saved():
    f = make(lambda ctx, x: (ctx.save_for_backward(3), mul(x, x))[1], lambda ctx, g: g)
    with pytest.raises(
        TypeError, match="save_for_backward can only save variables, but argument 0 is of type int"
    ):
        f.apply(tensor([1.0], True))


def test_saving_the_output_makes_no_cycle():
    import gc
    import weakref

    def forward(ctx, x):
        y = mul(x, x)
        ctx.save_for_backward(y)
        return y

    f = make(forward, lambda ctx, g: mul(g, ctx.saved_tensors[0]))
    gc.collect()
    gc.disable()
    try:
        x = tensor([3.0], True)
        y = f.apply(x)
        gone = weakref.ref(y)
        assert y.grad_fn.saved_tensors[0].grad_fn is y.grad_fn
        total(y).backward()
        assert x.grad.array.tolist() == [9.0]
        del y
        assert gone() is None
    finally:
        gc.enable()


def test_an_input_returned_as_it_is_becomes_a_view_that_cannot_be_written():
    x = tensor([1.0], True)
    y = make(lambda ctx, x: x, lambda ctx, g: g).apply(x)
    assert y is not x
    assert y._is_view()
    with pytest.raises(
        RuntimeError, match=r"Output 0 of F is a view and is being modified inplace. This view was"
    ):
        ops.aten.add_.Tensor(y, tensor([1.0]))


def test_a_dirty_input_is_returned_itself_and_counts_a_write():
    x = mul(tensor([2.0], True), tensor([1.0]))

    def forward(ctx, x):
        ctx.mark_dirty(x)
        x.array[...] *= 3
        return x

    y = make(forward, lambda ctx, g: mul(g, tensor([3.0]))).apply(x)
    assert y is x
    assert y._version == 1
    assert y.grad_fn.name() == "FBackward"


def test_a_dirty_tensor_has_to_be_returned():
    f = make(lambda ctx, x: (ctx.mark_dirty(x), mul(x, x))[1], lambda ctx, g: g)
    with pytest.raises(
        RuntimeError,
        match="Some elements marked as dirty during the forward method were not returned",
    ):
        f.apply(mul(tensor([1.0], True), tensor([1.0])))


def test_outputs_that_are_not_differentiable_get_zeros():
    given = []

    def forward(ctx, x):
        a, b = mul(x, x), add(x, x)
        ctx.mark_non_differentiable(b)
        return a, b

    f = make(forward, lambda ctx, ga, gb: (given.append(gb.array.tolist()), ga)[1])
    a, b = f.apply(tensor([1.0, 2.0], True))
    assert not b.requires_grad
    total(a).backward()
    assert given == [[0.0, 0.0]]


def test_gradients_may_stay_none():
    given = []

    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return mul(x, x), add(x, x)

    f = make(forward, lambda ctx, ga, gb: (given.append(gb), ga)[1])
    a, _ = f.apply(tensor([1.0], True))
    total(a).backward()
    assert given == [None]


def test_forward_is_required():
    with pytest.raises(
        NotImplementedError, match=r"You must implement the forward function for custom"
    ):
        Function.apply(tensor([1.0]))


def test_backward_is_required_when_it_runs():
    f = type("F", (Function,), {"forward": staticmethod(lambda ctx, x: mul(x, x))})
    y = f.apply(tensor([1.0], True))
    with pytest.raises(
        NotImplementedError, match="You must implement either the backward or vjp method"
    ):
        total(y).backward()


def test_an_instance_is_warned_of_and_cannot_be_called():
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        square = Square()
    with pytest.raises(
        RuntimeError, match="Legacy autograd function with non-static forward method is deprecated"
    ):
        square(tensor([1.0]))


def test_differentiating_twice_fails_where_it_would_be_wrong():
    class Once(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return mul(x, x)

        @staticmethod
        @once_differentiable
        def backward(ctx, grad):
            return mul(grad, ctx.saved_tensors[0])

    x = tensor([1.0], True)
    (constant,) = autograd.grad(Once.apply(x), x, tensor([1.0]), create_graph=True)
    assert not constant.requires_grad
    (guarded,) = autograd.grad(Once.apply(x), x, tensor([1.0], True), create_graph=True)
    with pytest.raises(
        RuntimeError,
        match="trying to differentiate twice a function that was marked with @once_diff",
    ):
        guarded.backward()


def test_saved_tensors_are_freed():
    y = Square.apply(tensor([3.0], True))
    total(y).backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.grad_fn.saved_tensors  # noqa: B018


def test_double_backward_goes_through_backward():
    x = tensor([3.0], True)
    (first,) = autograd.grad(total(Square.apply(x)), x, create_graph=True)
    (second,) = autograd.grad(total(first), x)
    assert second.array.tolist() == [2.0]


def test_the_context_takes_a_function_as_an_attribute():
    def forward(ctx, x):
        ctx.function = mul
        ctx.save_for_backward(x)
        return mul(x, x)

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return ctx.function(grad, add(x, x))

    x = tensor([3.0], True)
    total(make(forward, backward).apply(x)).backward()
    assert x.grad.array.tolist() == [6.0]


def test_a_list_that_forward_returns_stays_a_list_and_has_gradients():
    x = tensor([1.0, 2.0], requires_grad=True)
    f = make(lambda ctx, x: [ops.aten.mul(x, x), 3], lambda ctx, grad, none: grad)
    product, number = made = f.apply(x)
    assert type(made) is list
    assert number == 3
    product.backward(tensor([1.0, 1.0]))
    assert x.grad.array.tolist() == [1, 1]


def test_forward_may_be_a_function_that_does_not_tell_its_signature():
    class Larger(autograd.Function):
        forward = staticmethod(max)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.inputs = inputs

    assert Larger.apply(2, 3) == 3
