"""gradcheck catches wrong formulas in backward mode, in forward mode, and under vmap, and passes
right ones.
"""

from __future__ import annotations

from typing import Any

import pytest

import dovetail as dt
from dovetail.autograd import Function, GradcheckError, gradcheck, gradgradcheck


def leaf(dtype: Any = dt.float64) -> Any:
    values = [0.3 + 0.5j, 0.7 - 0.2j] if dtype is dt.complex128 else [0.3, 0.7]
    return dt.tensor(values, dtype=dtype, requires_grad=True)


class Square(Function):
    """The square, right in every mode; subclasses get one of them wrong."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any) -> Any:
        return x * x

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * (2 * ctx.saved_tensors[0]).conj()

    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        return t * 2 * ctx.saved_tensors[0]


class WrongBackward(Square):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 3 * ctx.saved_tensors[0]


class WrongForward(Square):
    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        return t * 3 * ctx.saved_tensors[0]


class WrongForwardOfImaginary(Square):
    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        return t.conj() * 2 * ctx.saved_tensors[0]


class Doubled(Function):
    """The identity, which is twice that under vmap."""

    @staticmethod
    def forward(x: Any) -> Any:
        return x.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Any) -> Any:
        return x * 2, in_dims[0]


class WrongBatchedBackward(Square):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return Doubled.apply(g) * 2 * ctx.saved_tensors[0]


class WrongBatchedForward(Square):
    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        return Doubled.apply(t) * 2 * ctx.saved_tensors[0]


EVERYTHING = {
    "check_forward_ad": True,
    "check_batched_grad": True,
    "check_batched_forward_grad": True,
}


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("dtype", [dt.float64, dt.complex128])
def test_a_right_function_passes_in_every_mode(dtype: Any, fast_mode: bool) -> None:
    assert gradcheck(
        Square.apply, leaf(dtype), fast_mode=fast_mode, check_grad_dtypes=True, **EVERYTHING
    )
    assert gradgradcheck(Square.apply, leaf(dtype), fast_mode=fast_mode, check_fwd_over_rev=True)


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("dtype", [dt.float64, dt.complex128])
@pytest.mark.parametrize(
    ("function", "words"),
    [
        (WrongBackward, "Jacobian mismatch for output 0 with respect to input 0,\nnumerical:"),
        (
            WrongForward,
            "Jacobian computed with forward mode mismatch for output 0 with respect to input "
            "0,\nnumerical",
        ),
        (
            WrongBatchedBackward,
            "While computing batched gradients, got a result other than one by one",
        ),
        (
            WrongBatchedForward,
            "The batched tangent of forward mode differs from that computed alone",
        ),
    ],
)
def test_a_wrong_formula_is_caught(function: Any, words: str, dtype: Any, fast_mode: bool) -> None:
    if function is WrongBatchedBackward and dtype is dt.complex128:
        pytest.skip("its backward is that of real numbers")
    with pytest.raises(GradcheckError, match=words):
        gradcheck(function.apply, leaf(dtype), fast_mode=fast_mode, **EVERYTHING)
    assert not gradcheck(
        function.apply, leaf(dtype), fast_mode=fast_mode, raise_exception=False, **EVERYTHING
    )


def test_the_part_of_a_complex_input_is_named() -> None:
    with pytest.raises(
        GradcheckError, match="While considering the imaginary part of complex inputs only"
    ):
        gradcheck(
            WrongForwardOfImaginary.apply,
            leaf(dt.complex128),
            check_forward_ad=True,
            check_backward_ad=False,
        )


def test_only_the_modes_asked_for_are_checked() -> None:
    assert gradcheck(WrongForward.apply, leaf())
    assert gradcheck(WrongBackward.apply, leaf(), check_backward_ad=False, check_forward_ad=True)
    assert gradcheck(WrongBatchedForward.apply, leaf(), check_forward_ad=True)


def test_second_derivatives_in_forward_mode_are_checked_as_well() -> None:
    class WrongSecond(Square):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return WrongForward.apply(ctx.saved_tensors[0]) / ctx.saved_tensors[0].detach() * 2 * g

    assert gradcheck(WrongSecond.apply, leaf())
    with pytest.raises(GradcheckError, match="Jacobian computed with forward mode mismatch"):
        gradgradcheck(WrongSecond.apply, leaf(), check_fwd_over_rev=True, check_rev_over_rev=False,
                      check_undefined_grad=False)  # fmt: skip


@pytest.mark.parametrize(
    ("check", "options", "words"),
    [
        (
            gradcheck,
            {"check_backward_ad": False},
            "at least one of check_forward_ad or check_backward_ad",
        ),
        (gradcheck, {"check_batched_forward_grad": True}, "requires check_forward_ad to be True"),
        (
            gradcheck,
            {"check_batched_grad": True, "check_backward_ad": False, "check_forward_ad": True},
            "requires check_backward_ad to be True",
        ),
        (
            gradgradcheck,
            {"check_rev_over_rev": False},
            "at least one of check_fwd_over_rev or check_rev_over_rev",
        ),
        (
            gradgradcheck,
            {"check_rev_over_rev": False, "check_fwd_over_rev": True},
            "check_undefined_grad=True requires check_rev_over_rev",
        ),
    ],
)
def test_options_that_make_no_sense_are_refused(check: Any, options: Any, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        check(Square.apply, leaf(), **options)


def test_an_undefined_gradient_of_a_function_with_one_output_is_materialized() -> None:
    seen = []

    class Undefined(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return None

    class Look(Undefined):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            seen.append(g.tolist())
            return g

    x = leaf()
    dt.autograd.grad(Undefined.apply(Look.apply(x)).sum(), x, allow_unused=True)
    assert seen == [[0.0, 0.0]]
