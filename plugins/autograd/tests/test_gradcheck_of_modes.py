"""`gradcheck` of forward mode, of batches, of undefined gradients and dtypes: what it finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from small_library import needs_base, tensor

import dovetail_autograd as autograd
from dovetail_autograd import Function, GradcheckError, gradcheck, gradgradcheck
from dovetail_dispatcher import ops

mul, add, exp = ops.aten.mul.Tensor, ops.aten.add.Tensor, ops.aten.exp.default
total, clone, detach = ops.aten.sum.default, ops.aten.clone.default, ops.aten.detach.default


def real(values: Any = (0.3, 0.7), dtype: Any = np.float64) -> Any:
    return tensor(values, True, dtype)


def number(value: float) -> Any:
    return tensor(value, dtype=np.float64)


class Square(Function):
    """The square, right in every mode; subclasses get one of them wrong."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any) -> Any:
        return mul(x, x)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return mul(grad, mul(number(2.0), ctx.saved_tensors[0]))

    @staticmethod
    def jvp(ctx: Any, tangent: Any) -> Any:
        return mul(tangent, mul(number(2.0), ctx.saved_tensors[0]))


class WrongForward(Square):
    @staticmethod
    def jvp(ctx: Any, tangent: Any) -> Any:
        return mul(tangent, mul(number(3.0), ctx.saved_tensors[0]))


class WrongBackward(Square):
    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return mul(grad, mul(number(3.0), ctx.saved_tensors[0]))


def is_batch(x: Any) -> bool:
    return type(x.array) is not np.ndarray


class WrongOfBatches(Square):
    """Wrong for batches of tangents and gradients alone."""

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        found = Square.backward(ctx, grad)
        return add(found, number(1.0)) if is_batch(grad) else found

    @staticmethod
    def jvp(ctx: Any, tangent: Any) -> Any:
        found = Square.jvp(ctx, tangent)
        return add(found, number(1.0)) if is_batch(tangent) else found


class Unmapped(Function):
    """The identity, without a rule for batches."""

    @staticmethod
    def forward(x: Any) -> Any:
        return clone(x)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None: ...


class NoRule(Square):
    @staticmethod
    def jvp(ctx: Any, tangent: Any) -> Any:
        return Square.jvp(ctx, Unmapped.apply(tangent))


MODES = {"check_forward_ad": True, "check_backward_ad": False}


@pytest.mark.parametrize("fast_mode", [False, True])
def test_right_derivatives_pass_in_every_mode(fast_mode: bool) -> None:
    def function(x: Any, y: Any) -> Any:
        return mul(Square.apply(x), y), total(exp(y))

    assert gradcheck(
        function,
        (real(), real([0.1, -0.4])),
        check_forward_ad=True,
        check_batched_grad=True,
        check_batched_forward_grad=True,
        check_grad_dtypes=True,
        fast_mode=fast_mode,
    )


@pytest.mark.parametrize("fast_mode", [False, True])
def test_wrong_tangents_fail(fast_mode: bool) -> None:
    x = real()
    assert gradcheck(WrongForward.apply, x, fast_mode=fast_mode)
    message = "Jacobian computed with forward mode mismatch for output 0 with respect to input 0"
    with pytest.raises(GradcheckError, match=message) as caught:
        gradcheck(WrongForward.apply, x, fast_mode=fast_mode, **MODES)
    assert ("fast mode" in str(caught.value)) is fast_mode
    assert not gradcheck(WrongForward.apply, x, raise_exception=False, **MODES)
    assert gradcheck(WrongBackward.apply, x, fast_mode=fast_mode, **MODES)
    np.testing.assert_array_equal(x.array, [0.3, 0.7])


@needs_base
def test_the_message_shows_both_jacobians() -> None:
    with pytest.raises(GradcheckError) as caught:
        gradcheck(WrongForward.apply, real([1.0]), **MODES)
    text = str(caught.value)
    assert "numerical:tensor([[2.0" in text.replace("2.]]", "2.0000]]")
    assert "analytical:tensor([[3." in text


def test_tolerances_count() -> None:
    class Nearly(Square):
        @staticmethod
        def jvp(ctx: Any, tangent: Any) -> Any:
            return mul(number(1.01), Square.jvp(ctx, tangent))

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return mul(number(1.01), Square.backward(ctx, grad))

    for modes in ({}, MODES):
        assert not gradcheck(Nearly.apply, real(), raise_exception=False, **modes)
        assert gradcheck(Nearly.apply, real(), rtol=0.02, **modes)
        assert gradcheck(Nearly.apply, real(), atol=0.02, **modes)


def test_a_complex_input_is_tried_in_both_directions() -> None:
    def z() -> Any:
        return real([0.3 + 0.5j, 0.7 - 0.2j], np.complex128)

    def twice(x: Any) -> Any:
        return mul(x, tensor(2.0, dtype=np.complex128))

    assert gradcheck(twice, z(), check_forward_ad=True)
    assert gradcheck(twice, z(), check_forward_ad=True, fast_mode=True)

    class Conjugated(Square):
        """Right along real directions alone."""

        @staticmethod
        def forward(x: Any) -> Any:
            return twice(x)

        @staticmethod
        def jvp(ctx: Any, tangent: Any) -> Any:
            return twice(tensor(tangent.array.conj(), dtype=np.complex128))

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return twice(tensor(grad.array.conj(), dtype=np.complex128))

    with pytest.raises(GradcheckError, match="considering the imaginary part of complex inputs"):
        gradcheck(Conjugated.apply, z(), **MODES)
    with pytest.raises(GradcheckError, match="considering the imaginary part of complex outputs"):
        gradcheck(Conjugated.apply, z(), check_undefined_grad=False)


def test_wrong_batches_fail() -> None:
    assert gradcheck(WrongOfBatches.apply, real(), check_forward_ad=True)
    with pytest.raises(GradcheckError, match="The batched tangent of forward mode differs"):
        gradcheck(WrongOfBatches.apply, real(), check_batched_forward_grad=True, **MODES)
    with pytest.raises(GradcheckError, match="While computing batched gradients, got a result"):
        gradcheck(WrongOfBatches.apply, real(), check_batched_grad=True)


def test_a_missing_rule_fails_where_batches_are_checked() -> None:
    assert gradcheck(NoRule.apply, real(), **MODES)
    with pytest.raises(GradcheckError, match="While computing batched gradients, encountered exc"):
        gradcheck(NoRule.apply, real(), check_batched_forward_grad=True, **MODES)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"check_backward_ad": False}, "Expected at least one of check_forward_ad"),
        (
            {"check_batched_grad": True, "check_backward_ad": False, "check_forward_ad": True},
            "check_batched_grad=True requires check_backward_ad",
        ),
        ({"check_batched_forward_grad": True}, "requires check_forward_ad to be True"),
    ],
)
def test_unfit_options_are_refused(options: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        gradcheck(Square.apply, real(), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"check_rev_over_rev": False}, "Expected at least one of check_fwd_over_rev"),
        (
            {"check_rev_over_rev": False, "check_fwd_over_rev": True, "check_batched_grad": True},
            "check_undefined_grad=True requires check_rev_over_rev",
        ),
        (
            {
                "check_rev_over_rev": False,
                "check_fwd_over_rev": True,
                "check_undefined_grad": False,
                "check_batched_grad": True,
            },
            "check_batched_grad=True requires check_rev_over_rev",
        ),
    ],
)
def test_unfit_options_of_second_derivatives_are_refused(options: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        gradgradcheck(Square.apply, real(), **options)


# -- second derivatives ----------------------------------------------------------------------------


class WrongSecond(Square):
    """Its gradient is right, and the gradient of that is not."""

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return Twofold.apply(grad, ctx.saved_tensors[0])


class Twofold(Function):
    @staticmethod
    def forward(grad: Any, x: Any) -> Any:
        return mul(grad, mul(number(2.0), x))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        first, x = ctx.saved_tensors
        return mul(grad, mul(number(2.0), x)), mul(grad, first)

    @staticmethod
    def jvp(ctx: Any, of_grad: Any, of_x: Any) -> Any:
        first, x = ctx.saved_tensors
        return add(mul(of_grad, mul(number(2.0), x)), mul(first, of_x))


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("noncontiguous", [False, True])
def test_second_derivatives_pass_in_both_orders(given: bool, noncontiguous: bool) -> None:
    seeds = real([0.5, -1.5]) if given else None
    assert gradgradcheck(
        Square.apply,
        real(),
        seeds,
        check_fwd_over_rev=True,
        gen_non_contig_grad_outputs=noncontiguous,
    )
    assert gradgradcheck(lambda x: mul(mul(x, x), x), real(), seeds, fast_mode=True)


def test_wrong_second_derivatives_fail() -> None:
    assert gradcheck(WrongSecond.apply, real())
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to inp"):
        gradgradcheck(WrongSecond.apply, real())
    with pytest.raises(GradcheckError, match="Jacobian computed with forward mode mismatch"):
        gradgradcheck(
            WrongSecond.apply,
            real(),
            check_fwd_over_rev=True,
            check_rev_over_rev=False,
            check_undefined_grad=False,
        )
    assert not gradgradcheck(WrongSecond.apply, real(), raise_exception=False)


# -- constants, undefined gradients, runs that differ ----------------------------------------------


@pytest.mark.parametrize("values", [[0.3, 0.7], [0.3 + 1j, 0.7]])
def test_a_function_that_is_cut_off_must_not_vary(values: Any) -> None:
    x = real(values, np.complex128 if isinstance(values[0], complex) else np.float64)
    fixed = tensor([1.0, 2.0], dtype=np.float64)
    assert gradcheck(lambda x: fixed, x)
    with pytest.raises(GradcheckError, match="Numerical gradient for function expected to be zero"):
        gradcheck(lambda x: detach(mul(x, x)), x)


class NeedsGradient(Function):
    """Two copies; backward wants both gradients."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(False)
        return clone(x), clone(x)

    @staticmethod
    def backward(ctx: Any, first: Any, second: Any) -> Any:
        if first is None or second is None:
            raise RuntimeError("a gradient is missing")
        return add(first, second)


def test_undefined_gradients_have_to_be_handled() -> None:
    def function(x: Any) -> Any:
        return add(*NeedsGradient.apply(x))

    assert gradcheck(function, real(), check_undefined_grad=False)
    with pytest.raises(GradcheckError, match="Expected backward function to handle undefined"):
        gradcheck(function, real())


class Offset(Function):
    """Adds to the gradient what does not depend on it."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(False)
        return clone(x)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return tensor([1.0, 1.0], dtype=np.float64) if grad is None else grad


def test_undefined_gradients_have_to_stay_zero() -> None:
    assert gradcheck(Offset.apply, real(), check_undefined_grad=False)
    with pytest.raises(GradcheckError, match="Expected all input grads to be undefined or zero"):
        gradcheck(Offset.apply, real())


@pytest.mark.parametrize("fast_mode", [False, True])
def test_runs_that_differ_fail(fast_mode: bool) -> None:
    runs = []

    class Drifting(Square):
        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            runs.append(1)
            return mul(Square.backward(ctx, grad), number(1 + 1e-7 * len(runs)))

    with pytest.raises(GradcheckError, match="Backward is not reentrant"):
        gradcheck(Drifting.apply, real(), fast_mode=fast_mode)
    runs.clear()
    assert gradcheck(Drifting.apply, real(), nondet_tol=1e-4, fast_mode=fast_mode)


def test_an_output_that_changes_its_shape_is_found() -> None:
    calls = []

    def function(x: Any) -> Any:
        calls.append(1)
        y = mul(x, x)
        return y if len(calls) < 2 else total(y)

    with pytest.raises(RuntimeError, match="return outputs with the same shape when inputs are pe"):
        gradcheck(function, real())


def test_modes_are_as_before_after_a_failure() -> None:
    def failing(x: Any) -> Any:
        raise KeyError

    for options in ({}, MODES):
        with pytest.raises(KeyError):
            gradcheck(failing, real(), **options)
        assert autograd.is_grad_enabled()
