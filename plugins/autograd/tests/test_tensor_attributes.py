"""Attributes of tensors that autograd answers for, and grad modes."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from small_library import tensor

import dovetail_autograd as autograd
from dovetail_dispatcher import ops

mul = ops.aten.mul.Tensor


def test_requires_grad_of_a_computed_tensor_cannot_be_taken_away():
    y = mul(tensor([1.0], True), tensor([1.0]))
    with pytest.raises(
        RuntimeError, match=r"you can only change requires_grad flags of leaf variables.*detach"
    ):
        y.requires_grad = False


def test_integers_cannot_require_grad():
    with pytest.raises(RuntimeError, match="floating point"):
        tensor([1], dtype=np.int64).requires_grad_()


@pytest.mark.parametrize(
    ("grad", "error", "message"),
    [
        (
            lambda x: tensor([1.0, 2.0, 3.0]),
            RuntimeError,
            r"attempting to assign a gradient of size '\[3\]' to "
            r"a tensor of size",
        ),
        (
            lambda x: tensor([1.0], dtype=np.float64),
            RuntimeError,
            "gradient with dtype 'double' to a tensor with grad_dtype 'Float'",
        ),
        (
            lambda x: 3,
            TypeError,
            "assigned grad expected to be a Tensor or None but got grad of type int",
        ),
        (lambda x: x, RuntimeError, "can't assign Variable as its own grad"),
    ],
)
def test_a_wrong_gradient_cannot_be_assigned(grad, error, message):
    x = tensor([1.0], True)
    with pytest.raises(error, match=message):
        x.grad = grad(x)
    assert x.grad is None


def test_grad_of_a_computed_tensor_warns():
    y = mul(tensor([1.0], True), tensor([1.0]))
    with pytest.warns(
        UserWarning,
        match="The .grad attribute of a Tensor that is not a leaf Tensor is being accessed",
    ):
        assert y.grad is None


def test_there_is_no_edge_without_requires_grad():
    with pytest.raises(
        RuntimeError,
        match="not possible to get the gradient edge for a Tensor that does not require grad",
    ):
        autograd.get_gradient_edge(tensor([1.0]))


def test_nothing_is_recorded_in_no_grad_mode():
    x = tensor([1.0], True)
    with autograd.no_grad():
        assert not mul(x, x).requires_grad
        with autograd.enable_grad():
            assert mul(x, x).requires_grad
    assert mul(x, x).requires_grad


def test_grad_modes_decorate_functions_with_and_without_parentheses():
    assert autograd.no_grad()(autograd.is_grad_enabled)() is False
    assert autograd.no_grad(autograd.is_grad_enabled)() is False


def test_set_grad_enabled_acts_at_once_and_restores():
    with autograd.set_grad_enabled(False):
        assert not autograd.is_grad_enabled()
    assert autograd.is_grad_enabled()
    autograd.set_grad_enabled(False)
    try:
        assert not autograd.is_grad_enabled()
    finally:
        autograd.set_grad_enabled(True)


def test_a_decorated_generator_leaves_its_caller_alone():
    @autograd.no_grad()
    def modes():
        yield autograd.is_grad_enabled()
        yield autograd.is_grad_enabled()

    inside = []
    outside = []
    for mode in modes():
        inside.append(mode)
        outside.append(autograd.is_grad_enabled())
    assert (inside, outside) == ([False, False], [True, True])


def test_a_decorated_coroutine_has_its_mode_across_awaits():
    @autograd.no_grad()
    async def mode():
        await asyncio.sleep(0)
        return autograd.is_grad_enabled()

    async def both():
        task = asyncio.create_task(mode())
        await asyncio.sleep(0)
        return autograd.is_grad_enabled(), await task

    assert asyncio.run(both()) == (True, False)


def test_inference_mode_makes_inference_tensors():
    with autograd.inference_mode():
        assert autograd.is_inference_mode_enabled()
        made = mul(tensor([1.0]), tensor([2.0]))
    assert made.is_inference()
    autograd.increment_version(made)  # it has no version, and needs none


def test_a_node_tells_what_it_is():
    x = tensor([1.0, 2.0], True)
    node = mul(x, tensor([1.0])).grad_fn
    assert node.name() == "MulBackward0"
    assert node.next_functions[1] == (None, 0)
    assert isinstance(node, autograd.Node)
    assert node._saved_self is None
    assert node._saved_other.array.tolist() == [1.0]
    assert node.metadata == {}
    node.metadata["note"] = 1
    assert node.metadata == {"note": 1}


def test_a_saved_result_is_an_equal_tensor_with_its_node():
    y = ops.aten.exp.default(tensor([0.0], True))
    saved = y.grad_fn._saved_result
    assert saved is not y
    assert saved.grad_fn is y.grad_fn
    assert saved.array.tolist() == [1.0]


def test_anomaly_mode_finds_nan():
    x = tensor([1.0], True)
    with (
        pytest.warns(UserWarning, match="Anomaly Detection has been enabled"),
        autograd.detect_anomaly(),
    ):
        y = mul(x, tensor([float("nan")]))
        with (
            pytest.warns(
                UserWarning, match=r"Error detected in MulBackward0. Traceback of forward call"
            ),
            pytest.raises(
                RuntimeError, match="Function 'MulBackward0' returned nan values in its 0th output"
            ),
        ):
            ops.aten.sum.default(y).backward()
