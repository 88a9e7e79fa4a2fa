"""Operands of shapes, dtypes and values that have no meaning are refused, not worked around."""

from __future__ import annotations

import math

import pytest

import dovetail
from dovetail.nn import functional as F


@pytest.mark.parametrize("bias", [(1, 2), (2, 1, 1), (3,)])
def test_a_bias_of_linear_makes_its_result_no_larger(bias: tuple[int, ...]) -> None:
    with pytest.raises(RuntimeError, match=r"expand|size"):
        F.linear(dovetail.ones(3), dovetail.ones(1, 3), dovetail.ones(bias))


@pytest.mark.parametrize("out", ["float64", "int64", "float32"])
def test_out_of_another_dtype_hides_no_operand_that_is_refused(out: str) -> None:
    images = dovetail.ones(1, 1, 4, 4, dtype=dovetail.bool)
    with pytest.raises((NotImplementedError, RuntimeError), match="not implemented for 'Bool'"):
        dovetail.ops.aten._adaptive_avg_pool2d.out(
            images, (2, 2), out=dovetail.ones(0, dtype=getattr(dovetail, out))
        )


def test_labels_of_ctc_loss_are_classes() -> None:
    with pytest.raises(RuntimeError, match=r"from 0 to 2, but they reach from 0 to 5. Give"):
        F.ctc_loss(dovetail.zeros(2, 1, 3), dovetail.tensor([[5]]), [2], [1])


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_a_grid_of_nan_samples_something(mode: str, padding: str) -> None:
    images = dovetail.arange(6.0).reshape(1, 1, 2, 3)
    grid = dovetail.tensor([[[[math.nan, 0.0], [math.inf, -math.inf]]]])
    sampled = F.grid_sample(images, grid, mode, padding, align_corners=False)
    assert sampled.shape == (1, 1, 1, 2)


@pytest.mark.parametrize("ord", [300, -300, 2.5])
def test_the_norm_of_one_number_is_its_size(ord: float) -> None:
    rows = dovetail.tensor([[-2.75], [300.0]])
    assert dovetail.linalg.vector_norm(rows, ord, dim=1).tolist() == [2.75, 300.0]


def test_an_even_slope_does_not_look_at_the_middle() -> None:
    (slope,) = dovetail.gradient(dovetail.tensor([1.0, math.inf, 5.0]))
    assert slope.tolist() == [math.inf, 2.0, -math.inf]


@pytest.mark.parametrize("std", [-1.0, math.nan])
def test_a_deviation_is_a_number_that_is_not_negative(std: float) -> None:
    with pytest.raises(RuntimeError, match=r"normal expects"):
        dovetail.normal(dovetail.ones(2), std)
    with pytest.raises(RuntimeError, match=r"normal expects"):
        dovetail.ones(2).normal_(0.0, std)
