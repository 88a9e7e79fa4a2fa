"""The kernels that the cpu computes in its own way, against PyTorch and beyond the sizes where their ways part."""

from __future__ import annotations

import numpy as np
import pytest

SHAPES = ((5,), (3, 40), (64, 1000), (2, 0), ())


def sample(shape: tuple[int, ...], dtype: str = "float32", seed: int = 0) -> np.ndarray:
    return np.asarray(np.random.default_rng(seed).standard_normal(shape) * 3).astype(dtype)


@pytest.mark.parametrize("dtype", ("float32", "float64", "float16"))
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ("_softmax", "_log_softmax"))
def test_softmax_agrees_with_pytorch(name, shape, dtype, compare):
    for dim in {0, -1}:
        compare(name, sample(shape, dtype), dim, False)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_backward_of_relu_agrees_with_pytorch(shape, compare):
    grad, result = sample(shape), sample(shape, seed=1)
    compare("threshold_backward", grad, result, 0)
    compare("threshold_backward", grad.T, result.T, 0)
    compare("threshold_backward", grad, result, 0.5)


def test_the_backward_of_relu_agrees_with_pytorch_at_infinity_and_nan(compare):
    odd = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0], np.float32)
    compare("threshold_backward", odd, np.zeros(6, np.float32), 0)
    compare("threshold_backward", np.ones(6, np.float32), odd, 0)


@pytest.mark.parametrize("dtype", ("float32", "float64", "float16"))
@pytest.mark.parametrize("shape", ((3, 5), (200, 300), (4, 2, 6), (2, 0, 3)))
def test_layer_normalization_agrees_with_pytorch(shape, dtype, compare):
    x, width = sample(shape, dtype), shape[-1]
    compare("native_layer_norm", x, (width,), sample((width,), dtype, 1), sample((width,), dtype, 2), 1e-5)
    compare("native_layer_norm", x, (width,), None, None, 1e-5)
    if 0 not in shape:
        compare("native_layer_norm", x, shape[1:], sample(shape[1:], dtype), None, 1e-3)


def test_layer_normalization_of_a_wrong_shape_raises(kernel):
    with pytest.raises(RuntimeError, match=r"Given normalized_shape=\[4\], expected input with shape \[\*, 4\]"):
        kernel("native_layer_norm", sample((2, 3)), (4,), None, None, 1e-5)
    with pytest.raises(RuntimeError, match="Expected weight to be of same shape as normalized_shape"):
        kernel("native_layer_norm", sample((2, 3)), (3,), sample((2,)), None, 1e-5)


@pytest.mark.parametrize("name", ("relu", "sigmoid", "silu", "gelu"))
@pytest.mark.parametrize("shape", SHAPES)
def test_an_activation_agrees_with_pytorch_at_any_size(name, shape, compare):
    for dtype in ("float32", "float64"):
        x = sample(shape, dtype)
        compare(name, x)
        compare(name, x.T)
        compare(name, x[..., ::2] if x.ndim else x)


def test_sigmoid_is_accurate_where_it_is_small(kernel):
    x = np.array([-20, -50, -80], np.float32)
    np.testing.assert_allclose(kernel("sigmoid", x), 1 / (1 + np.exp(-x.astype(np.float64))), rtol=1e-6)


def test_relu_of_bools_raises(kernel):
    with pytest.raises(RuntimeError, match="Boolean inputs not supported for relu"):
        kernel("relu", np.array([True]))


@pytest.mark.parametrize("shape", ((8, 2000), (40_000,), (3, 100, 60)))
def test_a_long_cumulative_sum_agrees_with_pytorch(shape, compare):
    compare("cumsum", sample(shape, "float64"), -1)


def test_an_infinity_in_a_long_cumulative_sum_leaves_what_comes_before_it(compare):
    x = np.ones((10, 2000))
    x[3, 50] = np.inf
    compare("cumsum", x, 1)


@pytest.mark.parametrize("size", (16_384, 20_001))
def test_a_sum_of_everything_agrees_with_pytorch_at_any_size(size, compare):
    compare("sum", sample((size,), "float64"))
    compare("mean", sample((size,), "float64"))


@pytest.mark.parametrize("largest", (False, True))
@pytest.mark.parametrize("k", (0, 1, 5, 100))
def test_topk_of_a_long_row_agrees_with_pytorch(k, largest, compare):
    x = np.random.default_rng(0).permutation(2000).reshape(4, 500).astype(np.float32)
    compare("topk", x, k, -1, largest)
    compare("topk", x.T, min(k, 4), 1, largest)


@pytest.mark.parametrize("rows", (5, 40, 1000))
def test_adding_rows_agrees_with_pytorch_however_often_one_is_named(rows, compare):
    generator = np.random.default_rng(0)
    target, source = sample((50, 32), "float64"), sample((rows, 32), "float64", 1)
    for index in (generator.integers(0, 50, rows), np.zeros(rows, np.int64), np.arange(rows) % 50):
        compare("index_add", target, 0, index, source)
        compare("embedding_dense_backward", source, index, 50, -1, False)


@pytest.mark.parametrize("name", ("tril", "triu"))
def test_a_triangle_agrees_with_pytorch_below_and_above_the_remembered_size(name, compare):
    for shape in ((4, 6), (2, 3, 3), (300, 300)):
        for diagonal in (-1, 0, 2):
            compare(name, sample(shape), diagonal)


def test_the_backward_of_gelu_agrees_with_pytorch(compare):
    for shape in SHAPES:
        compare("gelu_backward", sample(shape), sample(shape, seed=1))
        compare("gelu_backward", sample(shape).T, np.asarray(sample(shape, seed=1).clip(-1, 1)).T, approximate="tanh")
