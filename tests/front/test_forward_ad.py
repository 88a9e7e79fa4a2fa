"""Forward mode with dual tensors: levels, views, in-place writes, Functions, and what happens after
the level.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dovetail as dt
import dovetail.library
from dovetail.autograd import Function
from dovetail.autograd.forward_ad import (
    dual_level,
    enter_dual_level,
    exit_dual_level,
    make_dual,
    unpack_dual,
)

X = [0.3, 0.7, -0.2]


@pytest.fixture
def level() -> Iterator[None]:
    with dual_level():
        yield


def dual(values: Any = X, tangent: Any = (1.0, 2.0, 3.0)) -> Any:
    return make_dual(dt.tensor(values), dt.tensor(list(tangent)))


def tangent_of(tensor: Any) -> list[float]:
    found = unpack_dual(tensor).tangent
    assert found is not None
    return [round(each, 5) for each in found.tolist()]


# -- levels ----------------------------------------------------------------------------------------


def test_a_dual_tensor_needs_a_level() -> None:
    with pytest.raises(
        RuntimeError, match=r"no level exists, make sure to enter_dual_level\(\) first"
    ):
        dual()


@pytest.mark.usefixtures("level")
def test_levels_do_not_nest() -> None:
    with pytest.raises(RuntimeError, match="Nested forward mode AD is not supported at the moment"):
        enter_dual_level()


def test_only_an_entered_level_can_be_left() -> None:
    with pytest.raises(RuntimeError, match="Dual level must be a positive number"):
        exit_dual_level()


@pytest.mark.usefixtures("level")
def test_another_level_than_the_last_cannot_be_left() -> None:
    with pytest.raises(RuntimeError, match="level that was not the last one that was created"):
        exit_dual_level(level=5)


def test_after_the_level_a_dual_tensor_is_its_primal() -> None:
    with dual_level():
        x = dual()
    assert unpack_dual(x).tangent is None
    assert (x * 2).tolist() == pytest.approx([0.6, 1.4, -0.4])
    assert unpack_dual(x * 2).primal.cpu().numpy().shape == (3,)


def test_a_tangent_of_a_level_that_was_left_is_no_tangent_in_the_next() -> None:
    with dual_level():
        x = dual()
    with dual_level():
        assert unpack_dual(x * x).tangent is None


# -- making and taking apart -----------------------------------------------------------------------


@pytest.mark.usefixtures("level")
def test_unpacking_gives_back_the_tangent_itself() -> None:
    t = dt.ones(3)
    x = make_dual(dt.zeros(3), t)
    assert unpack_dual(x).tangent is t
    assert unpack_dual(dt.zeros(3)).tangent is None


@pytest.mark.parametrize(
    ("primal", "tangent", "error", "words"),
    [
        (
            dt.ones(2),
            dt.ones(3),
            RuntimeError,
            r"different size than that of the original Tensor.*\[2\].*\[3\]",
        ),
        (
            dt.ones(2).long(),
            dt.ones(2),
            ValueError,
            "Expected primal to be floating point or complex",
        ),
        (
            dt.ones(2),
            dt.ones(2).long(),
            ValueError,
            "Expected tangent to be floating point or complex",
        ),
        (
            dt.ones(2),
            dt.ones(2, device="meta"),
            RuntimeError,
            f"tangent on the device of its tensor, {dt.ones(2).device}",
        ),
        (1.0, dt.ones(2), TypeError, "argument 'tensor' must be Tensor, not float"),
    ],
)
@pytest.mark.usefixtures("level")
def test_a_tangent_has_to_fit(
    primal: Any, tangent: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        make_dual(primal, tangent)


@pytest.mark.usefixtures("level")
def test_a_dual_tensor_is_not_made_dual_again() -> None:
    with pytest.raises(RuntimeError, match="already has a forward gradient at the same level"):
        make_dual(dual(), dt.ones(3))
    with pytest.raises(
        RuntimeError, match="Setting a forward grad that itself has a forward gradient"
    ):
        make_dual(dt.ones(3), dual())


@pytest.mark.cpu_only(reason="the text names the cpu")
@pytest.mark.usefixtures("level")
def test_a_dual_tensor_prints_its_tangent_and_is_where_its_primal_is() -> None:
    x = dual([1.0], [2.0])
    assert repr(x) == "tensor([1.], tangent=tensor([2.]))"
    assert (x.device.type, x.is_cpu, x.dtype) == ("cpu", True, dt.float32)
    assert x.item() == 1.0


# -- operators -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("level")
def test_tangents_follow_broadcasting_and_numbers() -> None:
    x = dual()
    y = (2 * x + dt.ones(2, 1)) / 4
    assert unpack_dual(y).tangent.tolist() == [[0.5, 1.0, 1.5]] * 2
    assert tangent_of(dt.stack([x, dt.ones(3)])[0]) == [1.0, 2.0, 3.0]


@pytest.mark.usefixtures("level")
def test_results_without_derivative_have_no_tangent() -> None:
    x = dual()
    for result in (x > 0, x.detach(), dt.zeros_like(x), x.argmax(), x.long()):
        assert unpack_dual(result).tangent is None


@pytest.mark.usefixtures("level")
def test_forward_mode_does_not_mind_no_grad() -> None:
    with dt.no_grad():
        assert tangent_of(dual() * 2) == [2.0, 4.0, 6.0]


def test_inference_mode_loses_no_tangent_silently() -> None:
    with dt.inference_mode(), dual_level():
        assert tangent_of(dual() * 2) == [2.0, 4.0, 6.0]
        with pytest.raises(
            RuntimeError, match=r"forward AD of aten::logsumexp .* Leave inference mode"
        ):
            dual().logsumexp(0)


@pytest.mark.usefixtures("level")
def test_out_is_refused() -> None:
    with pytest.raises(
        NotImplementedError, match=r"forward AD with add.*because it is an out= function"
    ):
        dt.add(dual(), 1, out=dt.ones(3))


def test_the_other_side_of_complex_numbers() -> None:
    z, t = dt.tensor([1 + 2j]), dt.tensor([0.5 - 1j])
    with dual_level():
        y = unpack_dual(make_dual(z, t).exp() * make_dual(z, t).conj())
    expected = np.exp(z.cpu().numpy()) * (
        t.cpu().numpy() * z.cpu().numpy().conj() + t.cpu().numpy().conj()
    )
    np.testing.assert_allclose(y.tangent.cpu().numpy(), expected, rtol=1e-5)


# -- views and writes ------------------------------------------------------------------------------


@pytest.mark.usefixtures("level")
def test_a_view_shares_the_tangent() -> None:
    x = dual().clone()
    x[1:].mul_(10)
    assert tangent_of(x) == [1.0, 20.0, 30.0]


@pytest.mark.usefixtures("level")
def test_an_alias_shares_the_tangent() -> None:
    x = dual().clone()
    dt.ops.aten.alias.default(x).mul_(10)
    assert tangent_of(x) == [10.0, 20.0, 30.0]


@pytest.mark.usefixtures("level")
def test_a_write_through_the_base_reaches_its_views() -> None:
    x = dual().clone()
    view = x[:2]
    x.mul_(10)
    assert tangent_of(view) == [10.0, 20.0]


@pytest.mark.usefixtures("level")
def test_a_plain_tensor_becomes_dual_by_a_write() -> None:
    y = dt.ones(3)
    y.mul_(dual())
    assert tangent_of(y) == [1.0, 2.0, 3.0]


@pytest.mark.usefixtures("level")
def test_a_base_and_all_its_views_become_dual_by_a_write_to_one_of_them() -> None:
    y = dt.zeros(4)
    before = y[2:]
    y[1:] = dual()
    assert tangent_of(y) == [0.0, 1.0, 2.0, 3.0]
    assert tangent_of(before) == [2.0, 3.0]
    before.mul_(10)
    assert tangent_of(y) == [0.0, 1.0, 20.0, 30.0]
    assert y.tolist() == pytest.approx([0.0, 0.3, 7.0, -2.0])


@pytest.mark.usefixtures("level")
def test_a_constant_written_into_a_dual_tensor_has_no_tangent() -> None:
    x = dual().clone()
    x[0] = 5.0
    assert tangent_of(x) == [0.0, 2.0, 3.0]
    x.zero_()
    assert tangent_of(x) == [0.0, 0.0, 0.0]


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize(
    "function", [dt.frac, lambda x: dt.ops.aten.add.Scalar(x, 1), lambda x: dt.zeros(3).copy_(x)]
)
def test_a_write_to_a_result_does_not_reach_the_tangent_of_the_argument(function: Any) -> None:
    x = dual()
    y = function(x)
    y[0].mul_(10)
    assert tangent_of(x) == [1.0, 2.0, 3.0]
    assert tangent_of(y) == [10.0, 2.0, 3.0]


@pytest.mark.usefixtures("level")
def test_a_write_counts_as_a_version() -> None:
    x = dual().clone()
    before = x._version
    x.mul_(2)
    assert x._version == before + 1


@pytest.mark.usefixtures("level")
def test_the_tangent_of_an_expanded_tensor_can_be_written_after_a_copy() -> None:
    x = make_dual(dt.ones(3), dt.tensor([2.0]).expand(3)).clone()
    x[0].mul_(3)
    assert tangent_of(x) == [6.0, 2.0, 2.0]


# -- with backward mode ----------------------------------------------------------------------------


def test_the_tangent_can_be_differentiated() -> None:
    p, t = dt.tensor(X, requires_grad=True), dt.ones(3)
    with dual_level():
        tangent = unpack_dual(make_dual(p, t).sin()).tangent
        assert tangent is not None
    (grad,) = dt.autograd.grad(tangent.sum(), p)
    np.testing.assert_allclose(grad.cpu().numpy(), -np.sin(X), rtol=1e-5)


def test_the_gradient_of_a_dual_tensor_is_dual() -> None:
    p, t = dt.tensor(X, requires_grad=True), dt.tensor([1.0, 2.0, 3.0])
    with dual_level():
        x = make_dual(p, t)
        assert x.requires_grad
        (grad,) = dt.autograd.grad(x.sin().sum(), p)
        unpacked = unpack_dual(grad)
    np.testing.assert_allclose(unpacked.primal.cpu().numpy(), np.cos(X), rtol=1e-5)
    np.testing.assert_allclose(
        unpacked.tangent.cpu().numpy(), -np.sin(X) * t.cpu().numpy(), rtol=1e-5
    )


# -- Function --------------------------------------------------------------------------------------


class Product(Function):
    seen: tuple[Any, ...] = ()

    @staticmethod
    def forward(x: Any, y: Any) -> Any:
        return x * y, x.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, g: Any, h: Any) -> Any:
        x, y = ctx.saved_tensors
        return g * y + h, g * x

    @staticmethod
    def jvp(ctx: Any, a: Any, b: Any) -> Any:
        x, y = ctx.saved_tensors
        Product.seen = (a, b)
        return a * y + x * b, a.clone()


@pytest.mark.usefixtures("level")
def test_a_function_gives_the_tangents_that_its_jvp_says() -> None:
    x, y = dual(), dt.ones(3) * 2
    first, second = Product.apply(x, y)
    assert tangent_of(first) == [2.0, 4.0, 6.0]
    assert tangent_of(second) == [1.0, 2.0, 3.0]
    assert Product.seen[1].tolist() == [0.0, 0.0, 0.0]


def test_forward_of_a_function_sees_the_primal_alone() -> None:
    seen = []

    class Look(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            seen.append(unpack_dual(x).tangent)
            return x * 2

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return t * 2

    with dual_level():
        assert tangent_of(Look.apply(dual())) == [2.0, 4.0, 6.0]
    assert seen == [None]


def test_tangents_are_not_materialized_if_the_function_says_so() -> None:
    class Sparse(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x + y

        @staticmethod
        def jvp(ctx: Any, a: Any, b: Any) -> Any:
            assert b is None
            return a

    with dual_level():
        assert tangent_of(Sparse.apply(dual(), dt.ones(3))) == [1.0, 2.0, 3.0]


@pytest.mark.usefixtures("level")
def test_a_function_without_jvp_is_refused() -> None:
    class NoJvp(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

    with pytest.raises(NotImplementedError, match="You must implement the jvp function for custom"):
        NoJvp.apply(dual())


@pytest.mark.usefixtures("level")
def test_a_jvp_returns_one_tangent_of_the_right_size_per_output() -> None:
    class Few(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2, x * 3

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return t

    class Large(Few):
        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return dt.ones(4), t

    with pytest.raises(
        RuntimeError, match=r"incorrect number of forward gradients \(expected 2, got 1\)"
    ):
        Few.apply(dual())
    with pytest.raises(RuntimeError, match="different size than that of the original Tensor"):
        Large.apply(dual())


def test_a_function_is_differentiated_forward_over_reverse() -> None:
    p = dt.tensor(X, requires_grad=True)
    with dual_level():
        out, _ = Product.apply(make_dual(p, dt.ones(3)), make_dual(p, dt.ones(3)))
        (grad,) = dt.autograd.grad(out.sum(), p)
        assert tangent_of(grad) == [2.0, 2.0, 2.0]


def test_a_function_without_setup_context_is_not_differentiated_forward_over_reverse() -> None:
    class Square(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 2 * g * ctx.saved_tensors[0]

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return 2 * t * ctx.saved_tensors[0]

    p = dt.tensor(X, requires_grad=True)
    with dual_level():
        out = Square.apply(make_dual(p, dt.ones(3)))
        with pytest.raises(RuntimeError, match="it must override the setup_context staticmethod"):
            dt.autograd.grad(out.sum(), p)
        primal, tangent = unpack_dual(out)
        assert tangent is not None
        assert dt.autograd.grad(primal.sum(), p, retain_graph=True)[0].tolist() == pytest.approx(
            [0.6, 1.4, -0.4]
        )
        assert dt.autograd.grad(tangent.sum(), p)[0].tolist() == [2.0, 2.0, 2.0]


# -- operators of others ---------------------------------------------------------------------------


@pytest.fixture
def library() -> Iterator[Any]:
    with dovetail.library._scoped_library("forwardtest", "FRAGMENT") as made:
        yield made


def sine(library: Any, backward: Any) -> Any:
    library.define("sine(Tensor x) -> Tensor")
    library.impl("sine", lambda x: dt.tensor(np.sin(x.detach().cpu().numpy())), "CPU")
    if backward is not None:
        dovetail.library.register_autograd(
            "forwardtest::sine",
            backward,
            setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
            lib=library,
        )
    return dt.ops.forwardtest.sine.default


@pytest.mark.cpu_only(reason="the operator has a kernel for the cpu")
@pytest.mark.usefixtures("level")
def test_the_backward_of_an_operator_is_enough_for_forward_mode(library: Any) -> None:
    op = sine(library, lambda ctx, g: g * ctx.saved_tensors[0].cos())
    assert tangent_of(op(dual())) == [
        round(c * t, 5) for c, t in zip(np.cos(X), (1, 2, 3), strict=True)
    ]


@pytest.mark.cpu_only(reason="the operator has a kernel for the cpu")
@pytest.mark.usefixtures("level")
def test_an_operator_without_derivative_raises_and_gives_no_zeros(library: Any) -> None:
    op = sine(library, None)
    with pytest.raises(
        NotImplementedError, match="forward AD with forwardtest::sine that does not support it"
    ):
        op(dual())
    assert op(dt.ones(1)).tolist() == pytest.approx([np.sin(1.0)])


@pytest.mark.cpu_only(reason="the operator has a kernel for the cpu")
@pytest.mark.usefixtures("level")
def test_a_backward_in_another_array_library_raises_and_gives_no_zeros(library: Any) -> None:
    def backward(ctx: Any, g: Any) -> Any:
        return dt.tensor(
            g.detach().cpu().numpy() * np.cos(ctx.saved_tensors[0].detach().cpu().numpy())
        )

    op = sine(library, backward)
    with pytest.raises(
        NotImplementedError, match="is not differentiable in the gradient that it gets"
    ):
        op(dual())


def test_a_sample_may_write_to_a_view_of_a_tensor_whose_tangent_all_samples_share() -> None:
    def written(x: Any) -> Any:
        whole = x.clone().unsqueeze(0)
        whole.squeeze(0).exp_()
        return whole

    rows, direction = dt.rand(2, 3), dt.tensor([1.0, 2.0, 3.0])
    found = dt.func.vmap(lambda x: dt.func.jvp(written, (x,), (direction,))[1])(rows)
    assert found.squeeze(1).allclose(rows.exp() * direction)


@pytest.mark.parametrize("reduce", ["add", "multiply"])
def test_a_write_without_a_derivative_is_refused_before_it_writes(reduce: str) -> None:
    x = dt.ones(3, 2)
    base, index = x * 1, dt.zeros(2, 2, dtype=dt.int64)
    with dual_level():
        dual = make_dual(base, x)
        with pytest.raises(NotImplementedError, match="forward AD with scatter_"):
            dual.scatter_(0, index, 2, reduce=reduce)
        assert unpack_dual(dual).primal.equal(x)


def test_the_module_has_the_number_of_the_current_level() -> None:
    assert dt.autograd.forward_ad._current_level == -1
    with dt.autograd.forward_ad.dual_level() as level:
        assert dt.autograd.forward_ad._current_level == level == 0
    assert dt.autograd.forward_ad._current_level == -1


UNDIFFERENTIABLE = {
    "running_mean": lambda x, t: dt.nn.functional.batch_norm(x, t, dt.ones(3)),
    "running_var": lambda x, t: dt.nn.functional.batch_norm(x, dt.zeros(3), t),
    "weight": lambda x, t: dt.nn.functional.binary_cross_entropy(x, dt.ones(2, 3), t),
    "pos_weight": lambda x, t: dt.nn.functional.binary_cross_entropy_with_logits(
        x, dt.ones(2, 3), pos_weight=t
    ),
}


@pytest.mark.parametrize("name", UNDIFFERENTIABLE)
def test_a_tangent_of_an_argument_without_a_derivative_is_refused(name: str) -> None:
    call, x = UNDIFFERENTIABLE[name], dt.full((2, 3), 0.5)
    message = f"not differentiable with respect to argument '{name}'.*cannot have a tangent"
    with pytest.raises(RuntimeError, match=message):
        dt.func.jvp(lambda t: call(x, t), (dt.full((3,), 0.5),), (dt.ones(3),))
    with dual_level(), pytest.raises(RuntimeError, match=message):
        call(make_dual(x, x), make_dual(dt.full((3,), 0.5), dt.ones(3)))
    detached = dt.func.jvp(lambda t: call(t, dt.full((3,), 0.5)), (x,), (x,))[1]
    assert detached.isfinite().all()
