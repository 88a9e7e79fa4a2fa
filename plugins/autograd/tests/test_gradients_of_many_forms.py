"""Gradients of other shapes, dtypes and layouts than their inputs; complex numbers; views."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from small_library import close, needs_base, real, tensor

import dovetail_autograd as autograd
from dovetail_autograd import Function, gradcheck
from dovetail_dispatcher import Library, ops, register_autograd

mul, add, exp = ops.aten.mul.Tensor, ops.aten.add.Tensor, ops.aten.exp.default
total, clone, detach = ops.aten.sum.default, ops.aten.clone.default, ops.aten.detach.default
add_, mul_, select = ops.aten.add_.Tensor, ops.aten.mul_.Tensor, ops.aten.select.int
as_strided = ops.aten.as_strided.default


def complex_(values: Any, requires_grad: bool = False) -> Any:
    return tensor(values, requires_grad, np.complex128)


def returning(found: Any) -> Any:
    """Return ``apply`` of a copy whose backward returns `found`."""

    class Returning(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return clone(x)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return found

    return Returning.apply


HOOKS = [False, True]


def watched(x: Any, hooked: bool) -> Any:
    """Return `x`, with a hook, so that the run goes on over tensors."""
    if hooked:
        x.register_hook(lambda grad: None)
    return x


# -- shapes and dtypes -----------------------------------------------------------------------------


@pytest.mark.parametrize("hooked", HOOKS)
@pytest.mark.parametrize(
    ("shape", "given"),
    [
        ((2, 1), np.arange(6.0).reshape(2, 3)),
        ((3,), np.arange(6.0).reshape(2, 3)),
        ((), np.arange(6.0).reshape(2, 3)),
        ((1, 3), np.arange(12.0).reshape(2, 2, 3)),
    ],
)
def test_a_gradient_is_summed_to_the_shape_of_the_input(
    shape: Any, given: Any, hooked: bool
) -> None:
    x = watched(real(np.ones(shape), True), hooked)
    hidden = watched(mul(x, real(1.0)), hooked)
    total(returning(real(given))(hidden)).backward()
    expected = given.sum(tuple(range(given.ndim - len(shape))))
    axes = tuple(i for i, size in enumerate(shape) if size == 1)
    close(x.grad, expected.sum(axes, keepdims=True) if axes else expected)


@pytest.mark.parametrize("hooked", HOOKS)
def test_a_gradient_of_a_shape_that_does_not_fit_is_refused(hooked: bool) -> None:
    for given in (np.ones((2, 2)), np.ones(4), np.ones((3, 2)), np.ones(())):
        x = watched(real(np.ones(3), True), hooked)
        found = total(returning(real(given))(watched(mul(x, real(1.0)), hooked)))
        with pytest.raises(RuntimeError, match=r"invalid gradient at index 0 - got \["):
            found.backward()


@pytest.mark.parametrize("hooked", HOOKS)
@pytest.mark.parametrize("to_leaf", [False, True])
def test_a_gradient_is_cast_to_the_dtype_of_the_input(hooked: bool, to_leaf: bool) -> None:
    x = watched(tensor([1.0, 2.0], True), hooked)
    hidden = x if to_leaf else watched(mul(x, tensor(1.0)), hooked)
    total(returning(real([0.1, 0.2]))(hidden)).backward()
    assert x.grad.dtype is x.dtype
    np.testing.assert_array_equal(x.grad.array, np.float32([0.1, 0.2]))


@pytest.mark.parametrize("hooked", HOOKS)
def test_a_complex_gradient_of_a_function_for_a_real_input_is_refused(hooked: bool) -> None:
    x = watched(real([1.0], True), hooked)
    found = total(returning(complex_([1 + 2j]))(watched(mul(x, real(1.0)), hooked)))
    with pytest.raises(RuntimeError, match="returned a complex gradient at index 0 for a real in"):
        found.backward()


@pytest.mark.parametrize("hooked", HOOKS)
@pytest.mark.parametrize("create_graph", [False, True])
def test_a_real_input_of_a_complex_product_gets_the_real_part(
    hooked: bool, create_graph: bool
) -> None:
    x, z = watched(real([1.0, 2.0], True), hooked), complex_([1 + 2j, 3 - 1j], True)
    (of_x, of_z) = autograd.grad(
        mul(x, z), (x, z), complex_([1j, 1 + 1j]), create_graph=create_graph
    )
    close(of_x, (np.array([1j, 1 + 1j]) * np.conj([1 + 2j, 3 - 1j])).real)
    close(of_z, np.array([1j, 1 + 1j]) * [1.0, 2.0])


def test_a_backward_begins_with_a_real_scalar_or_is_given_its_gradient() -> None:
    z = complex_(1j, True)
    with pytest.raises(
        RuntimeError, match=r"only for real scalar outputs but got dovetail.complex"
    ):
        mul(z, z).backward()
    message = r"grad_output\[0\] has a dtype of dovetail.float64 and output\[0\]"
    with pytest.raises(RuntimeError, match=message):
        mul(z, z).backward(real(1.0))
    with pytest.raises(TypeError, match="gradients can be either Tensors or None, but got int"):
        autograd.backward([mul(z, z)], [3])
    with pytest.raises(RuntimeError, match="got 1 tensors and 2 gradients"):
        autograd.backward([mul(z, z)], [complex_(1.0), complex_(1.0)])
    mul(z, z).backward(complex_(1.0))
    close(z.grad, -2j)


def test_an_output_of_one_element_begins_with_one() -> None:
    for shape in ((), (1,), (1, 1)):
        x = real(np.full(shape, 3.0), True)
        mul(x, x).backward()
        close(x.grad, np.full(shape, 6.0))


def test_gradient_edges_begin_and_end_a_run() -> None:
    x = real([3.0], True)
    hidden = mul(x, x)
    result = mul(hidden, hidden)
    start, end = autograd.get_gradient_edge(result), autograd.get_gradient_edge(hidden)
    (found,) = autograd.grad([start], [end], retain_graph=True)
    close(found, [18.0])
    autograd.backward([start], [real([2.0])], inputs=[autograd.get_gradient_edge(x)])
    close(x.grad, [2 * 4 * 27.0])
    pair = autograd.get_gradient_edge(mul(real([1.0, 2.0], True), real(1.0)))
    with pytest.raises(RuntimeError, match=r"only for scalar outputs, but the shape is \[2\]"):
        autograd.grad([pair], [x])
    with pytest.raises(TypeError, match="only a Tensor or a GradientEdge can be differentiated"):
        autograd.backward([3])
    with pytest.raises(RuntimeError, match="all inputs have to be Tensors or GradientEdges, but g"):
        autograd.grad(mul(x, x), [3])


@pytest.mark.parametrize("hooked", HOOKS)
def test_gradients_of_a_function_of_several_inputs_fit_each(hooked: bool) -> None:
    class Mixed(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any, n: int) -> Any:
            return mul(x, y), mul(y, y)

        @staticmethod
        def backward(ctx: Any, first: Any, second: Any) -> Any:
            return first, add(first, second), None

    x = watched(real([2.0], True), hooked)
    y = watched(tensor([3.0, 4.0], True), hooked)
    first, second = Mixed.apply(x, y, 3)
    autograd.backward([first, second], [real([1.0, 2.0]), tensor([10.0, 20.0])])
    close(x.grad, [3.0])
    assert x.grad.dtype is x.dtype
    close(y.grad, [11.0, 22.0])
    assert y.grad.dtype is y.dtype


# -- layouts of gradients --------------------------------------------------------------------------


TURNED = np.arange(6.0).reshape(3, 2).T


@pytest.mark.parametrize("way", ["arrays", "tensors", "recorded"])
@pytest.mark.filterwarnings("ignore:Using backward.. with create_graph=True")
def test_the_first_gradient_lies_as_its_leaf_does(way: str) -> None:
    x = detach(as_strided(real(np.zeros(6)), [2, 3], [1, 2], 0))
    x.requires_grad = True
    if way == "tensors":
        x.register_hook(lambda grad: None)
    seed = real(np.arange(6.0).reshape(2, 3))
    mul(x, real(1.0)).backward(seed, create_graph=way == "recorded")
    assert tuple(x.grad.stride()) == (1, 2)
    close(x.grad, np.arange(6.0).reshape(2, 3))
    x.grad = None


def test_a_leaf_that_is_not_dense_has_a_dense_gradient() -> None:
    x = detach(as_strided(real(np.zeros(12)), [2, 3], [1, 4], 0))
    x.requires_grad = True
    x.backward(real(np.arange(6.0).reshape(2, 3)))
    assert tuple(x.grad.stride()) == (3, 1)
    close(x.grad, np.arange(6.0).reshape(2, 3))


@pytest.mark.parametrize("hooked", HOOKS)
def test_gradients_add_up_in_place_and_out_of_place_where_that_is_recorded(hooked: bool) -> None:
    x = watched(real([2.0], True), hooked)
    first = real([1.0])
    x.grad = first
    total(mul(x, x)).backward()
    assert x.grad is first
    close(first, [5.0])
    y = total(mul(mul(x, x), x))
    autograd.default_engine.run_backward((y,), (real(1.0),), True, True, None, True, True)
    assert x.grad is not first
    close(first, [5.0])
    close(x.grad, [17.0])
    assert x.grad.requires_grad
    x.grad = None


@pytest.mark.parametrize("hooked", HOOKS)
def test_a_gradient_of_another_dtype_takes_what_comes(hooked: bool) -> None:
    x = watched(tensor([2.0], True), hooked)
    x.grad_dtype = None
    x.grad = real([1.0])
    total(mul(x, tensor([3.0]))).backward()
    close(x.grad, [4.0])
    assert x.grad.dtype is real(1.0).dtype


def test_a_post_accumulate_hook_returns_nothing_else() -> None:
    x = real([2.0], True)
    handle = x.register_post_accumulate_grad_hook(lambda leaf: 3)
    with pytest.raises(TypeError, match="expected Variable, but hook returned 'int'"):
        total(mul(x, x)).backward()
    handle.remove()
    handle = x.register_post_accumulate_grad_hook(lambda leaf: real([1.0]))
    with pytest.raises(RuntimeError, match="post accumulate grad hooks should return None"):
        total(mul(x, x)).backward()
    handle.remove()
    x.register_post_accumulate_grad_hook(lambda leaf: leaf)
    x.grad = None
    total(mul(x, x)).backward()
    close(x.grad, [4.0])


def test_the_accumulator_may_be_called() -> None:
    x = real([2.0], True)
    node = autograd.gradient_edge(x)[0].presented()
    seen = []
    x.register_post_accumulate_grad_hook(seen.append)
    assert node(real([5.0])) == ()
    assert node(None) == ()
    close(x.grad, [5.0])
    assert seen == [x, x]
    assert node.requires_grad
    assert node.variable is x


# -- views -----------------------------------------------------------------------------------------


@needs_base
def test_writes_to_the_parts_of_complex_numbers() -> None:
    z = complex_([1 + 2j, 3 - 1j], True)
    w = real([5.0, 7.0], True)
    base = mul(z, complex_(1.0))
    parts = ops.aten.view_as_real.default(base)
    mul_(select(parts, 1, 0), w)
    close(base, [5 + 2j, 21 - 1j])
    assert base.grad_fn.name().endswith("CopySlices")
    seed = np.array([1 + 1j, 2 - 3j])
    base.backward(complex_(seed))
    close(z.grad, seed.real * [5.0, 7.0] + 1j * seed.imag)
    close(w.grad, seed.real * [1.0, 3.0])


@needs_base
def test_writes_to_pairs_of_numbers_seen_as_complex_ones() -> None:
    x = real([[1.0, 2.0], [3.0, -1.0]], True)
    z = complex_(2j, True)
    base = mul(x, real(1.0))
    view = ops.aten.view_as_complex.default(base)
    mul_(view, z)
    product = np.array([1 + 2j, 3 - 1j]) * 2j
    close(base, np.stack([product.real, product.imag], 1))
    seed = np.array([[1.0, 2.0], [-1.0, 3.0]])
    base.backward(real(seed))
    of_view = (seed[:, 0] + 1j * seed[:, 1]) * np.conj(2j)
    close(x.grad, np.stack([of_view.real, of_view.imag], 1))
    close(z.grad, ((seed[:, 0] + 1j * seed[:, 1]) * np.conj([1 + 2j, 3 - 1j])).sum())


@needs_base
def test_a_view_of_complex_parts_knows_what_was_written_to_its_base() -> None:
    z = complex_([1 + 2j], True)
    base = mul(z, complex_(1.0))
    parts = ops.aten.view_as_real.default(base)
    mul_(base, complex_(1j))
    total(mul(parts, real([[10.0, 1.0]]))).backward()
    close(z.grad, (10 + 1j) * np.conj([1j]))


def test_a_view_of_a_detached_base_is_a_constant() -> None:
    x = real([[1.0], [2.0]], True)
    base = mul(x, real(2.0))
    view = select(base, 0, 1)
    base.detach_()
    mul_(base, real(3.0))
    assert not base.requires_grad
    assert view.requires_grad
    assert view.grad_fn.next_functions[0][0] is None
    total(mul(view, x)).backward()
    close(x.grad, [[12.0], [12.0]])


def test_a_write_to_a_view_of_a_base_that_overlaps_itself_is_refused() -> None:
    overlapping = detach(as_strided(real(np.ones(4)), [2, 2], [1, 1], 0))
    with pytest.raises(RuntimeError, match=r"whose base overlaps itself .* shape \[2, 2\] and"):
        mul_(select(overlapping, 0, 0), real([2.0, 2.0], True))


def test_a_retained_gradient_moves_with_a_write() -> None:
    x = real([1.0, 2.0], True)
    base = mul(x, real(2.0))
    view = select(base, 0, 0)
    view.retain_grad()
    mul_(view, real(5.0))
    assert view.retains_grad
    add(total(mul(base, real([3.0, 4.0]))), mul(view, real(7.0))).backward()
    close(view.grad, 7.0)
    close(x.grad, [100.0, 8.0])


@pytest.mark.parametrize("mode", ["no_grad", "inference"])
def test_a_view_of_another_mode_is_not_written(mode: str) -> None:
    x = mul(real([1.0, 2.0], True), real(1.0))
    plain = real([1.0, 2.0])
    if mode == "no_grad":
        with autograd.no_grad():
            view = select(x, 0, 0)
        where = "with grad mode enabled"
    else:
        with autograd.inference_mode():
            view = select(x, 0, 0)
        where = "in normal mode"
    with pytest.raises(RuntimeError, match=f"created in {mode} mode and is being.*{where}"):
        mul_(view, real(2.0))
    with autograd.no_grad():
        view = select(plain, 0, 0)
    mul_(view, real(2.0))
    close(plain, [2.0, 2.0])


def test_the_gradient_of_a_write_is_that_of_its_formula() -> None:
    def function(x: Any, w: Any) -> Any:
        base = mul(x, x)
        mul_(select(base, 0, 1), w)
        add_(select(select(base, 0, 0), 0, 1), total(w))
        return exp(base)

    x, w = real([[0.1, 0.2], [0.3, -0.4]], True), real([0.5, 0.6], True)
    assert gradcheck(function, (x, w))
    assert autograd.gradgradcheck(function, (x, w))
    assert gradcheck(function, (x, w), check_forward_ad=True, check_batched_grad=True)


def test_a_graph_of_a_write_may_run_once() -> None:
    x = real([1.0, 2.0], True)
    base = mul(x, real(1.0))
    mul_(select(base, 0, 0), real(3.0, True))
    loss = total(base)
    loss.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        loss.backward()


# -- formulas of users -----------------------------------------------------------------------------


@pytest.fixture
def lib() -> Iterator[Library]:
    made = Library("forms", "FRAGMENT")
    yield made
    made._destroy()


def test_a_registered_formula_knows_which_arguments_need_gradients(lib: Library) -> None:
    lib.define("weigh(Tensor x, Tensor[] ws, int n, Tensor? y=None) -> Tensor")
    lib.impl("weigh", lambda x, ws, n, y=None: real(x.array * ws[0].array * n), "CPU")
    seen = []

    def backward(ctx: Any, grad: Any) -> Any:
        seen.append(ctx.needs_input_grad)
        x, w = ctx.saved_tensors
        return mul(grad, mul(w, real(ctx.n))), [mul(grad, mul(x, real(ctx.n))), None], None, None

    def save(ctx: Any, inputs: Any, output: Any) -> None:
        x, ws, ctx.n, *_ = inputs
        ctx.save_for_backward(x, ws[0])

    register_autograd("forms::weigh", backward, setup_context=save, lib=lib)
    x, w, other = real([2.0], True), real([3.0], True), real([1.0])
    total(ops.forms.weigh.default(x, [w, other], 5)).backward()
    close(x.grad, [15.0])
    close(w.grad, [10.0])
    assert seen == [(True, [True, False], False, False)]


def test_results_that_are_marked_have_no_gradient(lib: Library) -> None:
    lib.define("both(Tensor x) -> (Tensor, Tensor)")
    lib.impl("both", lambda x: (real(2 * x.array), real(3 * x.array)), "CPU")
    seen = []

    def backward(ctx: Any, first: Any, second: Any) -> Any:
        seen.append(second.array.tolist())
        return mul(first, real(2.0))

    register_autograd(
        "forms::both",
        backward,
        setup_context=lambda ctx, inputs, output: ctx.mark_non_differentiable(output[1]),
        lib=lib,
    )
    x = real([2.0], True)
    first, second = ops.forms.both.default(x)
    assert first.requires_grad
    assert not second.requires_grad
    total(first).backward()
    close(x.grad, [2.0])
    assert seen == [[0.0]]


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ((real([1.0]), None, real([1.0])), r"number of gradients \(expected 2, got 3\)"),
        (3, r"incorrect number of gradients \(expected 2, got 1\)"),
        ((3.0, None), r"expected Variable or None \(got float\)"),
        ((None, 3), "gradient different than None at position 2"),
    ],
)
def test_gradients_of_a_registered_formula_are_checked(
    lib: Library, returned: Any, message: str
) -> None:
    lib.define("scale(Tensor x, int n) -> Tensor")
    lib.impl("scale", lambda x, n: real(x.array * n), "CPU")
    register_autograd("forms::scale", lambda ctx, grad: returned, lib=lib)
    found = total(ops.forms.scale.default(real([2.0], True), 3))
    with pytest.raises(RuntimeError, match=message):
        found.backward()


def test_superfluous_gradients_that_are_none_are_dropped(lib: Library) -> None:
    lib.define("scale(Tensor x, int n) -> Tensor")
    lib.impl("scale", lambda x, n: real(x.array * n), "CPU")
    register_autograd("forms::scale", lambda ctx, grad: (grad, None, None), lib=lib)
    x = real([2.0], True)
    total(ops.forms.scale.default(x, 3)).backward()
    close(x.grad, [1.0])


# -- Functions -------------------------------------------------------------------------------------


def test_a_function_may_have_vjp_in_place_of_backward() -> None:
    class Vjp(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return mul(x, x)

        @staticmethod
        def vjp(ctx: Any, grad: Any) -> Any:
            return mul(grad, real(7.0))

    x = real([2.0], True)
    total(Vjp.apply(x)).backward()
    close(x.grad, [7.0])

    class Ambiguous(Vjp):
        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad

    with pytest.raises(RuntimeError, match="Implementing both 'backward' and 'vjp'"):
        total(Ambiguous.apply(x)).backward()


def test_a_function_may_take_its_gradients_in_one_list() -> None:
    class Boxed(Function):
        boxed_grads_call = True

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return mul(x, x), add(x, x)

        @staticmethod
        def backward(ctx: Any, grads: Any) -> Any:
            assert type(grads) is list
            first, second = grads
            grads.clear()
            return add(first, second)

    x = real([2.0], True)
    first, second = Boxed.apply(x)
    autograd.backward([first, second], [real([1.0]), real([10.0])])
    close(x.grad, [11.0])


def test_saved_tensors_may_be_read_once_where_a_function_says_so() -> None:
    class Once(Function):
        clear_saved_tensors_on_access = True

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return mul(x, x)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            with pytest.raises(RuntimeError, match="clear_saved_tensors_on_access"):
                _ = ctx.saved_tensors
            return mul(grad, add(x, x))

    x = real([2.0], True)
    total(Once.apply(x)).backward()
    close(x.grad, [4.0])


def test_a_context_may_be_used_by_hand() -> None:
    ctx = autograd.FunctionCtx()
    x = real([2.0])
    ctx.save_for_backward(x)
    ctx.save_for_forward(x)
    assert ctx.to_save == (x,)
    ctx.note = 3
    assert ctx.note == 3
    with pytest.raises(AssertionError, match="save_for_forward expects all arguments to be tens"):
        ctx.save_for_forward(3)
    with pytest.warns(FutureWarning, match="`mark_shared_storage` is deprecated"):
        ctx.mark_shared_storage((x, x))
    hooks, handle = autograd._HookMixin._register_hook(None, print)
    assert list(hooks.values()) == [print]
    again, _ = autograd._HookMixin._register_hook(hooks, repr)
    assert again is hooks
    handle.remove()
    assert list(hooks.values()) == [repr]


def test_dirty_views_and_inputs() -> None:
    class Doubled(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, count: int) -> Any:
            ctx.mark_dirty(x)
            x.array[...] *= 2
            return (x, clone(x))[:count] if count > 1 else x

        @staticmethod
        def backward(ctx: Any, grad: Any, *others: Any) -> Any:
            return mul(grad, real(2.0)), None

    x = real([1.0, 3.0], True)
    base = mul(x, real(1.0))
    view = select(base, 0, 0)
    assert Doubled.apply(view, 1) is view
    total(mul(base, base)).backward()
    close(x.grad, [2 * 2 * 2.0, 6.0])
    with pytest.raises(RuntimeError, match="modifies inplace an input that is a view of another"):
        Doubled.apply(select(mul(x, real(1.0)), 0, 0), 2)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad has been used in"):
        Doubled.apply(x, 1)

    class Stranger(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            made = clone(x)
            ctx.mark_dirty(made)
            return made

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad

    with pytest.warns(UserWarning, match="received a tensor that was not an input"):
        Stranger.apply(real([1.0], True))


def test_an_output_that_shows_an_input_is_a_view_of_it() -> None:
    class Row(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return select(x, 0, 1)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return ops.aten.stack.default([mul(grad, real(0.0)), grad], 0)

    x = mul(real([1.0, 3.0], True), real(1.0))
    row = Row.apply(x)
    assert row._is_view()
    assert row._base is x
    with pytest.raises(RuntimeError, match="Output 0 of Row is a view and is being modified inpl"):
        mul_(row, real(2.0))


def test_a_function_makes_nothing_of_what_needs_no_gradient() -> None:
    class Two(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return [x, tensor([1], dtype=np.int64), mul(x, x)]

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return grads[0]

    same, whole, square = Two.apply(real([2.0]))
    assert not same.requires_grad
    assert not square.requires_grad
    x = real([2.0], True)
    same, whole, square = Two.apply(x)
    assert same.requires_grad
    assert not whole.requires_grad
    assert same is not x
    with autograd.no_grad():
        same, _, square = Two.apply(x)
    assert not square.requires_grad
