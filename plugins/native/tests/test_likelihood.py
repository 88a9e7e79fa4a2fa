"""The compiled likelihood of classes against its reference."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("dovetail_native._core", reason="built without a C compiler")

from .compiled_kernels import UNITS, close, kernel
from .layouts import LAYOUTS, numbers

SHAPES = ((4,), (1, 1), (6, 3), (300, 7), (1000, 40))


@pytest.mark.parametrize("ignored", (-100, 1, 2**40))
@pytest.mark.parametrize("weighted", (False, True))
@pytest.mark.parametrize("reduction", (0, 1, 2))
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ("f4", "f8"))
def test_a_loss_and_its_gradient(dtype, layout, reduction, weighted, ignored):
    forward, backward = kernel("nll_loss_forward"), kernel("nll_loss_backward")
    for seed, shape in enumerate(SHAPES):
        x = LAYOUTS[layout](numbers(shape, dtype, seed, special=False))
        classes = np.random.default_rng(seed).integers(0, shape[-1], shape[:-1])
        target = np.asarray(LAYOUTS[layout](np.asarray(classes)))
        weight = np.abs(numbers(shape[-1:], dtype, seed + 1, special=False)) if weighted else None
        arguments = (x, target, weight, reduction, ignored)
        with np.errstate(all="ignore"):
            expected = forward.__wrapped__(*arguments)
        found = forward(*arguments)
        for one, other in zip(found, expected, strict=True):
            scale = np.abs(x).sum() / 64 + 1
            close(one, np.asarray(other), 16 * UNITS[dtype], float(scale))
        grad = numbers(found[0].shape, dtype, seed + 2, special=False)
        arguments = (grad, x, target, weight, reduction, ignored, found[1])
        with np.errstate(all="ignore"):
            expected = backward.__wrapped__(*arguments)
        close(backward(*arguments), expected, 2 * UNITS[dtype], 0)


def test_a_target_that_is_no_class_is_refused_before_anything_is_read():
    x = np.zeros((3, 4), "f4")
    one = np.ones((), "f4")
    for wrong in (-1, 4, 2**62, -(2**62)):
        target = np.array([0, wrong, 1])
        with pytest.raises(IndexError, match="out of bounds"):
            kernel("nll_loss_forward")(x, target, None, 1, -100)
        with pytest.raises(IndexError, match="out of bounds"):
            kernel("nll_loss_backward")(one, x, target, None, 1, -100, one)
    with pytest.raises(RuntimeError):
        kernel("nll_loss_forward")(x, np.array([0, 1]), None, 1, -100)
    with pytest.raises(RuntimeError):
        kernel("nll_loss_forward")(x, np.array([0, 1, 1]), np.ones(3, "f4"), 1, -100)
    with pytest.raises(RuntimeError):
        kernel("nll_loss_backward")(np.ones(2, "f4"), x, np.array([0, 1, 1]), None, 1, -100, one)


def test_a_loss_that_is_certain_is_no_negative_zero():
    found, total = kernel("nll_loss_forward")(np.zeros((2, 2), "f4"), np.array([0, 1]), None, 2, -1)
    assert not np.signbit(found)
    assert total == 2
    mean, _ = kernel("nll_loss_forward")(np.zeros((2, 2), "f4"), np.array([1, 1]), None, 1, 1)
    assert np.isnan(mean)


def test_sums_of_many_losses_lose_no_more_than_pairwise_ones():
    x = np.full((1 << 20, 1), -0.1, "f4")
    found, _ = kernel("nll_loss_forward")(x, np.zeros(1 << 20, "i8"), None, 1, -100)
    assert abs(float(found) / float(np.float32(0.1)) - 1) < 1e-6
