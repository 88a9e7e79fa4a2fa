"""`Function` under `vmap`, `grad` and `jvp`: own rules, generated ones, tangents, errors."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from small_library import close, real, tensor

import dovetail_autograd as autograd
from dovetail_autograd import Function, gradcheck
from dovetail_autograd.transforms import grad, jacfwd, jacrev, jvp, vjp, vmap
from dovetail_dispatcher import ops

mul, add, exp = ops.aten.mul.Tensor, ops.aten.add.Tensor, ops.aten.exp.default
total, clone, mul_ = ops.aten.sum.default, ops.aten.clone.default, ops.aten.mul_.Tensor

ROWS = np.random.default_rng(0).standard_normal((3, 4))
VALUES = np.array([0.3, 0.7, -0.2])
OTHERS = np.array([2.0, -1.0, 0.5])


class Square(Function):
    @staticmethod
    def forward(x: Any) -> Any:
        return mul(x, x)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return mul(grad, add(x, x))

    @staticmethod
    def jvp(ctx: Any, tangent: Any) -> Any:
        (x,) = ctx.saved_tensors
        return mul(tangent, add(x, x))


class Generated(Square):
    generate_vmap_rule = True


class Own(Square):
    seen: Any = ()

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Any) -> Any:
        Own.seen = (info.batch_size, info.randomness, in_dims, tuple(x.shape))
        return Own.apply(x), in_dims[0]


class Ambiguous(Own):
    generate_vmap_rule = True


class OldStyle(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return add(x, x)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return add(grad, grad)


class Scale(Function):
    """Two outputs of a tensor, a weight and a number."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any, weight: Any, factor: float) -> Any:
        return mul(mul(x, weight), real(factor)), total(x)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        x, weight, ctx.factor = inputs
        ctx.save_for_backward(x, weight)
        ctx.output = output[0]

    @staticmethod
    def backward(ctx: Any, of_product: Any, of_sum: Any) -> Any:
        x, weight = ctx.saved_tensors
        assert len(ctx.needs_input_grad) == 3
        assert tuple(ctx.output.shape) == tuple(of_product.shape)
        scaled = mul(of_product, real(ctx.factor))
        return add(mul(scaled, weight), of_sum), mul(scaled, x), None

    @staticmethod
    def jvp(ctx: Any, of_x: Any, of_weight: Any, of_factor: Any) -> Any:
        x, weight = ctx.saved_tensors
        assert of_factor is None
        product = add(mul(of_x, weight), mul(x, of_weight))
        return mul(product, real(ctx.factor)), total(of_x)


ALL = [Square, Generated, Own]
MAPPED = [Generated, Own]


# -- derivatives -----------------------------------------------------------------------------------


@pytest.mark.parametrize("function", ALL)
def test_each_transform_uses_the_derivatives_of_the_function(function: Any) -> None:
    x, v = real(VALUES), real(OTHERS)
    close(grad(lambda x: total(function.apply(x)))(x), 2 * VALUES)
    close(vjp(function.apply, x)[1](v)[0], 2 * VALUES * OTHERS)
    output, tangent = jvp(function.apply, (x,), (v,))
    close(output, VALUES**2)
    close(tangent, 2 * VALUES * OTHERS)
    close(grad(lambda x: total(grad(lambda y: total(function.apply(y)))(x)))(x), np.full(3, 2.0))


@pytest.mark.parametrize("function", MAPPED)
@pytest.mark.parametrize("jacobian", [jacrev, jacfwd])
def test_jacobians_of_functions(function: Any, jacobian: Any) -> None:
    close(jacobian(function.apply)(real(VALUES)), np.diag(2 * VALUES))


@pytest.mark.parametrize("function", ALL)
def test_forward_over_reverse_and_reverse_over_forward(function: Any) -> None:
    def slope(x: Any) -> Any:
        return grad(lambda y: total(function.apply(y)))(x)

    _, tangent = jvp(slope, (real(VALUES),), (real(OTHERS),))
    close(tangent, 2 * OTHERS)

    def push(x: Any) -> Any:
        return total(jvp(function.apply, (x,), (real(OTHERS),))[1])

    close(grad(push)(real(VALUES)), 2 * OTHERS)


class Wrong(Square):
    """Wrong in backward and in jvp alike, so that they show where they are used."""

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return mul(grad, real(5.0))

    @staticmethod
    def jvp(ctx: Any, tangent: Any) -> Any:
        return mul(tangent, real(7.0))


def test_no_derivative_is_looked_for_inside_of_the_function() -> None:
    close(grad(lambda x: total(Wrong.apply(x)))(real(VALUES)), np.full(3, 5.0))
    close(jvp(Wrong.apply, (real(VALUES),), (real(OTHERS),))[1], 7 * OTHERS)


class Returning(Function):
    """Returns from `jvp` whatever it is told to."""

    returned: Any = None
    marks: bool = False

    @staticmethod
    def forward(x: Any) -> Any:
        return mul(x, x), exp(x)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        if Returning.marks:
            ctx.mark_non_differentiable(output[1])

    @staticmethod
    def jvp(ctx: Any, tangent: Any) -> Any:
        return Returning.returned(tangent)


@pytest.mark.parametrize(
    ("returned", "text"),
    [
        (lambda t: t, "returned an incorrect number of forward gradients (expected 2, got 1)"),
        (lambda t: (t, t, t), "incorrect number of forward gradients (expected 2, got 3)"),
        (lambda t: (t, 3), "Returning.jvp returned a int: expected a Tensor or None"),
        (lambda t: (t, total(t)), "different size than that of the original"),
    ],
)
def test_tangents_of_a_function_are_checked(monkeypatch: Any, returned: Any, text: str) -> None:
    monkeypatch.setattr(Returning, "returned", staticmethod(returned))
    with pytest.raises(RuntimeError, match=re.escape(text)):
        jvp(Returning.apply, (real(VALUES),), (real(OTHERS),))


def test_a_function_may_return_its_tangent_or_none(monkeypatch: Any) -> None:
    monkeypatch.setattr(Returning, "returned", staticmethod(lambda t: (t, None)))
    v = real(OTHERS)
    _, (first, second) = jvp(Returning.apply, (real(VALUES),), (v,))
    close(first, OTHERS)
    assert first.array is not v.array
    close(second, np.zeros(3))


def test_outputs_without_derivative_have_no_tangent(monkeypatch: Any) -> None:
    monkeypatch.setattr(Returning, "marks", True)
    monkeypatch.setattr(Returning, "returned", staticmethod(lambda t: (t, t)))
    with pytest.raises(RuntimeError, match=r"gradient at position 1.*Returning\.jvp"):
        jvp(Returning.apply, (real(VALUES),), (real(OTHERS),))
    monkeypatch.setattr(Returning, "returned", staticmethod(lambda t: (t, None)))
    _, (first, second) = jvp(Returning.apply, (real(VALUES),), (real(OTHERS),))
    close(first, OTHERS)
    close(second, np.zeros(3))


def test_missing_tangents_are_zeros_unless_told_otherwise() -> None:
    given: list[Any] = []

    class Product(Function):
        materialize = True

        @staticmethod
        def forward(x: Any, y: Any, n: Any, i: Any) -> Any:
            return mul(x, y)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.set_materialize_grads(Product.materialize)

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            given[:] = tangents
            return tangents[0]

    x, y, whole = real(VALUES), real(OTHERS), tensor([1, 2], dtype=np.int64)
    jvp(lambda x: Product.apply(x, y, 3, whole), (x,), (y,))
    close(given[0], OTHERS)
    close(given[1], np.zeros(3))
    assert given[2:] == [None, None]
    Product.materialize = False
    jvp(lambda x: Product.apply(x, y, 3, whole), (x,), (y,))
    assert given[1:] == [None, None, None]


class Doubled(Function):
    """Writes to its input; `writes_tangent` says whether `jvp` writes to the tangent too."""

    writes_tangent = True

    @staticmethod
    def forward(x: Any) -> Any:
        return mul_(x, real(2.0))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_dirty(inputs[0])

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return mul(grad, real(2.0))

    @staticmethod
    def jvp(ctx: Any, tangent: Any) -> Any:
        multiply = mul_ if Doubled.writes_tangent else mul
        return multiply(tangent, real(2.0))


def test_a_function_that_writes_writes_to_the_tangent(monkeypatch: Any) -> None:
    def function(x: Any) -> Any:
        y = mul(x, x)
        assert Doubled.apply(y) is y
        return y

    output, tangent = jvp(function, (real(VALUES),), (real(OTHERS),))
    close(output, 2 * VALUES**2)
    close(tangent, 4 * VALUES * OTHERS)
    close(grad(lambda x: total(function(x)))(real(VALUES)), 4 * VALUES)
    monkeypatch.setattr(Doubled, "writes_tangent", False)
    with pytest.raises(RuntimeError, match=r"not modifying the forward mode gradients inplace.*0"):
        jvp(function, (real(VALUES),), (real(OTHERS),))


def test_a_function_without_jvp_is_refused_in_forward_mode() -> None:
    class Missing(Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return mul(x, x)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None: ...

    with pytest.raises(NotImplementedError, match="jvp"):
        jvp(Missing.apply, (real(VALUES),), (real(OTHERS),))


def test_a_function_without_setup_context_works_where_nothing_is_wrapped() -> None:
    close(grad(lambda x: total(OldStyle.apply(x)))(real(VALUES)), np.full(3, 2.0))
    message = "it must override the setup_context staticmethod: split OldStyle.forward"
    slope = grad(lambda x: total(OldStyle.apply(x)))
    with pytest.raises(RuntimeError, match=message):
        vmap(slope)(real(ROWS))


# -- vmap ------------------------------------------------------------------------------------------


def test_a_function_s_own_rule_gets_the_batch() -> None:
    close(vmap(Own.apply, in_dims=1, randomness="different")(real(ROWS)), (ROWS**2).T)
    assert Own.seen == (4, "different", (0,), (4, 3))
    close(vmap(vmap(Own.apply))(real(ROWS[None])), ROWS[None] ** 2)
    assert Own.seen == (1, "error", (0,), (1, 3, 4))


def test_the_rule_is_not_asked_about_what_all_samples_share() -> None:
    Own.seen = ()
    fixed = real(VALUES)
    close(vmap(lambda x: add(x, total(Own.apply(fixed))))(real(ROWS)), ROWS + (VALUES**2).sum())
    assert Own.seen == ()


@pytest.mark.parametrize("function", MAPPED)
@pytest.mark.parametrize("dim", [0, 1])
def test_gradients_flow_through_a_rule(function: Any, dim: int) -> None:
    x = real(ROWS, requires_grad=True)
    found = vmap(function.apply, in_dims=dim, out_dims=dim)(x)
    close(found, ROWS**2)
    assert gradcheck(vmap(function.apply, in_dims=dim), x, check_undefined_grad=False)
    assert autograd.gradgradcheck(vmap(function.apply), x, check_undefined_grad=False)


@pytest.mark.parametrize("function", MAPPED)
def test_derivatives_inside_of_a_map(function: Any) -> None:
    slope = grad(lambda x: total(function.apply(x)))
    close(vmap(slope)(real(ROWS)), 2 * ROWS)
    direction = real(np.arange(4.0))
    push = vmap(lambda x: jvp(function.apply, (x,), (direction,))[1])
    close(push(real(ROWS)), 2 * ROWS * np.arange(4.0))
    mapped = vmap(function.apply)
    _, tangent = jvp(mapped, (real(ROWS),), (real(np.ones((3, 4))),))
    close(tangent, 2 * ROWS)


@pytest.mark.parametrize("dims", [(0, 0), (0, None), (None, 0), (1, 1)])
def test_a_generated_rule_has_all_the_derivatives(dims: Any) -> None:
    rows = {0: ROWS[:, :2], None: ROWS[0, :2], 1: ROWS[:, :2].T.copy()}
    others = {0: ROWS[:, 2:], None: ROWS[1, 2:], 1: ROWS[:, 2:].T.copy()}
    x, weight = real(rows[dims[0]], True), real(others[dims[1]], True)

    def by_samples(x: Any, weight: Any) -> Any:
        return vmap(lambda x, w: Scale.apply(x, w, 3.0), in_dims=dims)(x, weight)

    first, second = by_samples(x, weight)
    whole_x = rows[0] if dims[0] is not None else np.stack([rows[None]] * 3)
    whole_w = others[0] if dims[1] is not None else np.stack([others[None]] * 3)
    close(first, 3 * whole_x * whole_w)
    close(second, whole_x.sum(1))
    assert gradcheck(by_samples, (x, weight))
    assert gradcheck(by_samples, (x, weight), check_forward_ad=True, check_backward_ad=False)


def test_a_call_that_all_samples_share_is_differentiated_once() -> None:
    x, weight = real(VALUES, True), real(OTHERS, True)
    batch = real(np.ones((4, 3)))

    def function(row: Any) -> Any:
        return add(row, Scale.apply(x, weight, 3.0)[0])

    found = vmap(function)(batch)
    close(found, 1 + np.stack([3 * VALUES * OTHERS] * 4))
    total(found).backward()
    close(x.grad, 4 * 3 * OTHERS)
    close(weight.grad, 4 * 3 * VALUES)


def test_outputs_without_derivative_are_so_for_the_batch() -> None:
    class Signed(Square):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any) -> Any:
            return mul(x, x), exp(x)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.mark_non_differentiable(output[1])
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, grad: Any, none: Any) -> Any:
            assert none is None
            return Square.backward(ctx, grad)

    x = real(ROWS, True)
    square, marked = vmap(Signed.apply)(x)
    assert not marked.requires_grad
    close(marked, np.exp(ROWS))
    total(square).backward()
    close(x.grad, 2 * ROWS)


def test_a_generated_rule_cannot_write() -> None:
    class Writing(Square):
        generate_vmap_rule = True

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.mark_dirty(inputs[0])

    with pytest.raises(RuntimeError, match="mark_dirty is not supported with generate_vmap_rule"):
        vmap(Writing.apply)(real(ROWS))


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (Square, "You tried to vmap over Square, but it does not have vmap support"),
        (Ambiguous, "it has both generate_vmap_rule=True and an overridden vmap staticmethod"),
        (OldStyle, "it must override the setup_context staticmethod"),
    ],
)
def test_a_function_without_one_rule_is_refused_under_a_map_only(function: Any, text: str) -> None:
    assert tuple(function.apply(real(ROWS)).shape) == (3, 4)
    with pytest.raises(RuntimeError, match=text):
        vmap(function.apply)(real(ROWS))


def test_a_rule_sees_containers_of_dimensions_and_returns_them() -> None:
    class Listed(Function):
        @staticmethod
        def forward(xs: Any, n: float) -> Any:
            return mul(xs[0], real(n))

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None: ...

        @staticmethod
        def vmap(info: Any, in_dims: Any, xs: Any, n: float) -> Any:
            assert in_dims == ([0, None], None)
            return (mul(xs[0], real(n)), total(xs[1])), (0, None)

    first, second = vmap(lambda x: Listed.apply([x, real(OTHERS)], 3.0), out_dims=(0, None))(
        real(ROWS)
    )
    close(first, ROWS * 3)
    close(second, OTHERS.sum())


@pytest.mark.parametrize(
    ("returned", "text"),
    [
        (lambda x: x, "Expected the vmap staticmethod to have two returns"),
        (lambda x: (x, (0, 0)), "returned an incompatible (output, out_dims) tuple"),
        (lambda x: (x, 1), "of shape [3, 4] with batch dimension 1"),
    ],
)
def test_what_the_rule_of_a_function_returns_is_checked(returned: Any, text: str) -> None:
    class Short(Square):
        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            return returned(x)

    with pytest.raises(RuntimeError, match=re.escape(text)):
        vmap(Short.apply)(real(ROWS))
