"""The text of tensors."""

from __future__ import annotations

import pytest

from dovetail_aten import (
    Tensor,
    arange,
    get_printoptions,
    ones,
    printoptions,
    set_printoptions,
    tensor,
    zeros,
)
from dovetail_kernel import float64, plugin_manager

plugin_manager.load_transform("autograd")

pytestmark = pytest.mark.cpu_only(reason="the printed form of another device names it")


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (tensor(1.5), "tensor(1.5000)"),
        (tensor([1.0, 2.0]), "tensor([1., 2.])"),
        (tensor([1.0, -2.5]), "tensor([ 1.0000, -2.5000])"),
        (tensor([1e-5, 1.0]), "tensor([1.0000e-05, 1.0000e+00])"),
        (tensor([[1, 20], [300, 4]]), "tensor([[  1,  20],\n        [300,   4]])"),
        (tensor([True, False]), "tensor([ True, False])"),
        (tensor([1 + 2j]), "tensor([1.+2.j])"),
        (tensor([1.0, float("nan"), float("inf")]), "tensor([1., nan, inf])"),
        (zeros(0, 3), "tensor([], size=(0, 3))"),
        (ones(2, dtype=float64), "tensor([1., 1.], dtype=dovetail.float64)"),
        (ones(2, device="meta"), "tensor(..., device='meta', size=(2,))"),
    ],
)
def test_a_tensor_prints(made: Tensor, text: str) -> None:
    assert repr(made) == text
    assert str(made) == text


def test_the_graph_is_named() -> None:
    x = ones(2, requires_grad=True)
    assert repr(x) == "tensor([1., 1.], requires_grad=True)"
    assert repr(x * 2) == "tensor([2., 2.], grad_fn=<MulBackward0>)"


def test_a_long_tensor_is_abridged() -> None:
    assert repr(arange(1001)) == "tensor([   0,    1,    2,  ...,  998,  999, 1000])"


def test_a_subclass_prints_its_name() -> None:
    class Special(Tensor):
        pass

    assert repr(ones(1).as_subclass(Special)) == "Special([1.])"


def test_options_hold_inside_a_block() -> None:
    with printoptions(precision=2, sci_mode=True):
        assert repr(tensor(1.5)) == "tensor(1.50e+00)"
    assert repr(tensor(1.5)) == "tensor(1.5000)"


def test_a_profile_sets_several_options() -> None:
    set_printoptions(profile="short")
    try:
        assert get_printoptions()["precision"] == 2
    finally:
        set_printoptions(profile="default")


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown profile 'tiny'"):
        set_printoptions(profile="tiny")
