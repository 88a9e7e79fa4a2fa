"""gradcheck and gradgradcheck on right and wrong derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from small_library import tensor

from dovetail_autograd import Function, GradcheckError, gradcheck, gradgradcheck
from dovetail_dispatcher import ops

mul, exp, add = ops.aten.mul.Tensor, ops.aten.exp.default, ops.aten.add.Tensor


def double(values, dtype=np.float64):
    return tensor(values, True, dtype)


class Wrong(Function):
    @staticmethod
    def forward(ctx, x):
        return add(x, x)

    @staticmethod
    def backward(ctx, grad):
        return add(grad, add(grad, grad))


@pytest.mark.parametrize("fast_mode", [False, True])
def test_right_gradients_pass(fast_mode):
    assert gradcheck(
        lambda x, y: mul(exp(x), y), (double([0.1, 0.2]), double([0.3, 0.4])), fast_mode=fast_mode
    )


@pytest.mark.parametrize("fast_mode", [False, True])
def test_wrong_gradients_fail(fast_mode):
    with pytest.raises(
        GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0,\nnumerical:"
    ):
        gradcheck(Wrong.apply, double([1.0, 2.0]), fast_mode=fast_mode)
    assert not gradcheck(
        Wrong.apply, double([1.0, 2.0]), fast_mode=fast_mode, raise_exception=False
    )


@pytest.mark.parametrize("fast_mode", [False, True])
def test_inputs_that_are_no_leaves_are_left_as_they_are(fast_mode):
    x, y = exp(double([0.1, 0.2])), exp(double([0.3, 0.4]))
    for _ in range(2):
        assert gradcheck(mul, (x, y), check_batched_grad=True, fast_mode=fast_mode)
        assert not x.retains_grad and not y.retains_grad
    x.retain_grad()
    assert gradcheck(mul, (x, y), fast_mode=fast_mode)


def test_second_derivatives_pass():
    assert gradgradcheck(lambda x, y: mul(mul(x, y), x), (double([0.1, 0.2]), double([0.3, 0.4])))


def test_some_input_has_to_require_grad():
    with pytest.raises(
        ValueError, match="gradcheck expects at least one input tensor to require gradient"
    ):
        gradcheck(exp, tensor([1.0]))


def test_single_precision_is_warned_of():
    with pytest.warns(
        UserWarning,
        match="Input #0 requires gradient and is not a double precision floating point or complex",
    ):
        gradcheck(lambda x: add(x, x), tensor([1.0], True), atol=1.0)


def test_inputs_may_not_overlap_themselves():
    x = ops.aten.as_strided.default(tensor([1.0], dtype=np.float64), [2], [0])
    x = ops.aten.detach.default(x).requires_grad_()
    with pytest.raises(RuntimeError, match="The 0th input has a dimension with stride 0"):
        gradcheck(exp, x)
