"""The kernels that the cpu computes in its own way, against PyTorch and beyond the sizes where
their ways part.
"""

from __future__ import annotations

import numpy as np
import pytest

import dovetail_aten as aten
from dovetail_aten.families.recurrent.kernels.recurrent_sequences import RecurrentSequences

SHAPES = ((5,), (3, 40), (64, 1000), (2, 0), ())


def sample(shape: tuple[int, ...], dtype: str = "float32", seed: int = 0) -> np.ndarray:
    return np.asarray(np.random.default_rng(seed).standard_normal(shape) * 3).astype(dtype)


@pytest.mark.parametrize("dtype", ("float32", "float64", "float16"))
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ("_softmax", "_log_softmax"))
def test_softmax_agrees_with_pytorch(name, shape, dtype, compare):
    for dim in {0, -1}:
        compare(name, sample(shape, dtype), dim, False)


@pytest.mark.parametrize("dtype", ("float32", "float64"))
@pytest.mark.parametrize("shape", ((6, 8), (2, 3, 8), (6, 3000), (2, 3, 5, 4)))
@pytest.mark.parametrize("name", ("_softmax", "_log_softmax", "_safe_softmax"))
def test_softmax_of_rows_that_need_their_maximum_agrees_with_pytorch(name, shape, dtype, compare):
    rest = () if name == "_safe_softmax" else (False,)
    for far in (700, -700, 60, -60, 12, -12, np.inf, -np.inf, np.nan):
        for places in (0, slice(None), (..., 1)):
            x = sample(shape, dtype)
            x[places] = x[places] + far if np.isfinite(far) else far
            for dim in (-1, 0, 1):
                compare(name, x, dim, *rest)


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
    np.testing.assert_allclose(
        kernel("sigmoid", x), 1 / (1 + np.exp(-x.astype(np.float64))), rtol=1e-6
    )


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
        compare(
            "gelu_backward",
            sample(shape).T,
            np.asarray(sample(shape, seed=1).clip(-1, 1)).T,
            approximate="tanh",
        )


def odd_rows(case: str) -> np.ndarray:
    """Return rows long enough for topk to look for a bound, with something awkward in them."""
    x = np.random.default_rng(0).standard_normal((3, 3001)).astype(np.float32)
    if case == "infinities":
        x[:, ::500] = np.inf
        x[:, 1::500] = -np.inf
    elif case == "NaN":
        x[1, 7] = np.nan
    elif case == "equal elements":
        x = np.round(x)
    elif case == "sorted":
        x.sort(-1)
    elif case == "all equal":
        x[:] = 1
    return x


@pytest.mark.parametrize("largest", (False, True))
@pytest.mark.parametrize(
    "case", ("plain", "infinities", "NaN", "equal elements", "sorted", "all equal")
)
def test_topk_of_few_among_many_agrees_with_sorting(case, largest, kernel, generic_table):
    x = odd_rows(case)
    for array in (x, x[0], x[:, ::2], x.astype(np.float64), x.reshape(3, 3001, 1)[..., 0]):
        for k in (1, 7, 90):
            values, indices = kernel("topk", array, k, -1, largest)
            np.testing.assert_array_equal(
                values, generic_table.kernels["topk"].fn(array, k, -1, largest)[0]
            )
            np.testing.assert_array_equal(values, np.take_along_axis(array, indices, -1))
            assert all(len(set(row)) == k for row in indices.reshape(-1, k).tolist())


@pytest.mark.parametrize("dtype", ("float32", "float64", "float16", "int64", "complex64"))
@pytest.mark.parametrize("dim", (0, 1, -1))
def test_adding_scattered_elements_agrees_with_numpy(dim, dtype, kernel):
    generator = np.random.default_rng(0)
    target, source = sample((6, 7, 8)).astype(dtype), sample((5, 7, 9), seed=1).astype(dtype)
    shape = (5, 6, 7)
    index = generator.integers(0, target.shape[dim], shape)
    for array in (target, np.asfortranarray(target), target[:, ::-1][:, ::-1]):
        expected = array.copy()
        for place in np.ndindex(shape):
            where = list(place)
            where[dim] = index[place]
            expected[tuple(where)] += source[place]
        np.testing.assert_allclose(kernel("scatter_add", array, dim, index, source), expected, 1e-2)


@pytest.mark.parametrize("dtype", ("float32", "int64"))
def test_adding_at_indices_agrees_with_numpy(dtype, kernel):
    generator = np.random.default_rng(0)
    target = sample((5, 6, 20)).astype(dtype)
    i, j = generator.integers(0, 5, (3, 40)), generator.integers(0, 6, 40)
    cases = (
        ((i,), sample((3, 40, 6, 20))),
        ((i, j), sample((3, 40, 20))),
        ((i, j), np.ones(20)),
        ((i, j, j), sample((3, 40))),
        ((i, j - 6), sample((3, 40, 20))),
        ((i, None, j), sample((3, 40, 6))),
        ((target[..., 0] > 0,), sample((int((target[..., 0] > 0).sum()), 20))),
    )
    for indices, values in cases:
        values = values.astype(dtype)
        key = tuple([slice(None) if each is None else each for each in indices])
        expected = target.copy()
        np.add.at(expected, key, values)
        found = kernel("index_put", target, indices, values, True)
        np.testing.assert_allclose(found, expected, 1e-5, 1e-5)


def test_adding_at_an_index_out_of_range_raises(kernel):
    with pytest.raises(IndexError):
        kernel("index_put", sample((5, 6)), (np.array([5]),), np.ones(6, np.float32), True)


@pytest.mark.parametrize("dtype", ("float32", "float64", "float16"))
@pytest.mark.parametrize("shape", SHAPES)
def test_softmax_of_masked_rows_agrees_with_pytorch(shape, dtype, compare):
    x = sample(shape, dtype)
    compare("_safe_softmax", x, -1)
    if x.ndim == 2 and x.size:
        x[::2] = -np.inf
        x[1, 0] = -np.inf
        x[-1, -1] = np.nan
        compare("_safe_softmax", x, 1)
        compare("_safe_softmax", x, 0)
        compare("_safe_softmax", x.T, 0)


@pytest.mark.parametrize("dtype", ("float32", "float64", "int32"))
@pytest.mark.parametrize("mask_shape", ((4, 6), (6,), (1, 6), (8, 1, 1), (8, 4, 6), ()))
def test_a_mask_of_any_shape_fills_as_in_pytorch(mask_shape, dtype, compare):
    x = sample((8, 4, 6), dtype)
    if dtype != "int32":
        x[..., :3] = np.inf, np.nan, -0.0
    mask = np.asarray(np.random.default_rng(3).random(mask_shape) < 0.5)
    for value in (2, -0.0, -np.inf, np.nan) if dtype != "int32" else (2,):
        compare("masked_fill.Scalar", x, mask, value)
        turned = np.broadcast_to(mask, x.shape).swapaxes(0, 2)
        compare("masked_fill.Scalar", x.swapaxes(0, 2), turned, value)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", ("float32", "float64"))
@pytest.mark.parametrize("shape", ((1, 2, 3), (5, 4, 64), (20, 8, 64), (16, 4, 140), (3, 0, 4)))
def test_the_steps_of_an_lstm_are_what_the_generic_kernel_makes_of_them(
    shape, dtype, reverse, table
):
    size = shape[-1]
    gates = sample((*shape[:-1], 4 * size), dtype, 1)
    before = gates.copy()
    hx, cx = sample(shape[1:], dtype, 2), sample(shape[1:], dtype, 3)
    weight, bias = sample((4 * size, size), dtype, 4), sample((4 * size,), dtype, 5)
    weight /= np.sqrt(size).astype(dtype)  # else errors grow from step to step
    family = table.kernels["_lstm_sequence"].fn.__self__
    for biases in ((None,), (bias,)):
        operands = (gates, hx, cx, weight, *biases, reverse)
        with np.errstate(all="ignore"):
            fast = family.lstm_sequence(*operands)
            generic = RecurrentSequences.lstm_sequence(family, *operands)
        np.testing.assert_array_equal(gates, before)
        for one, other in zip(fast, generic, strict=True):
            assert one.dtype == other.dtype
            assert one.flags.c_contiguous
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("given", [(True, True, True), (True, False, False), (False, True, False)])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", ("float32", "float64"))
@pytest.mark.parametrize("shape", ((1, 2, 3), (5, 4, 64), (3, 0, 4), (20, 8, 140)))
def test_gradients_of_the_steps_of_an_lstm_are_those_of_the_generic_kernel(
    shape, dtype, reverse, given, table
):
    size = shape[-1]
    gates = sample((*shape[:-1], 4 * size), dtype, 1)
    hx, cx = sample(shape[1:], dtype, 2), sample(shape[1:], dtype, 3)
    weight, bias = sample((4 * size, size), dtype, 4), sample((4 * size,), dtype, 5)
    family = table.kernels["_lstm_sequence"].fn.__self__
    with np.errstate(over="ignore"):
        made = family.lstm_sequence(gates, hx, cx, weight, bias, reverse)
    shapes = (shape, shape, gates.shape)
    grads = [
        sample(each, dtype, 6)[..., ::-1] if is_given else None
        for each, is_given in zip(shapes, given, strict=True)
    ]
    operands = (grads, hx, cx, weight, bias, *made, reverse, (True,) * 5)
    held = [each.copy() for each in (*made, hx, cx)]
    fast = family.lstm_sequence_backward(*operands)
    for one, other in zip((*made, hx, cx), held, strict=True):
        np.testing.assert_array_equal(one, other)
    generic = RecurrentSequences.lstm_sequence_backward(family, *operands)
    for one, other in zip(fast, generic, strict=True):
        assert one.dtype == other.dtype
        assert one.flags.c_contiguous
        scale = max(1, np.abs(other).max(initial=0))
        np.testing.assert_allclose(one / scale, other / scale, rtol=1e-4, atol=2e-5)


@pytest.mark.cpu_only(reason="which zero is the greater is the processor's: a GPU has +0 above -0")
@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("count", [1, 3, 8, 17, 100, 600])
def test_a_zero_at_a_bound_keeps_its_sign(count, step):
    zeros = aten.full((count * step,), -0.0)[::step]
    assert zeros.clamp(0.0, 3.0).signbit().all()


@pytest.mark.parametrize("size", [(2, 3), (70, 70)])
def test_any_and_all_of_everything_keep_dimensions_where_asked(size: tuple[int, int]) -> None:
    x = aten.ones(size).ne(0)
    x[0, 0] = False
    assert aten.any(x, dim=None, keepdim=True).tolist() == [[True]]
    assert aten.all(x, dim=None, keepdim=True).tolist() == [[False]]
    assert aten.any(x).item()
    assert not aten.all(x).item()


@pytest.mark.parametrize("bias_size", [1, 256])
@pytest.mark.parametrize("rows", [1, 8, 16, 17, 40, 64])
def test_layers_of_few_rows_are_their_products_and_biases(rows, bias_size, table):
    x, weight = sample((rows, 160)), sample((256, 160), seed=1)
    bias = sample((bias_size,), seed=2)
    x[0, :3] = np.inf, -np.inf, np.nan
    family = table.kernels["addmm"].fn.__self__
    with np.errstate(invalid="ignore"):
        wanted = (x.astype("float64") @ weight.T.astype("float64") + bias).astype("float32")
        for made in (family.addmm(bias, x, weight.T), family.linear(x, weight, bias)):
            assert made.flags.c_contiguous
            np.testing.assert_allclose(made, wanted, rtol=1e-4, atol=1e-3)


def test_a_bias_that_does_not_fit_a_layer_of_few_rows_is_refused(table):
    family = table.kernels["addmm"].fn.__self__
    for bias in (sample((3,)), sample((2, 16, 256))):
        with pytest.raises(RuntimeError, match=r"expand|size"):
            family.addmm(bias, sample((16, 160)), sample((256, 160)).T)


@pytest.mark.parametrize("dtype", ("int64", "int32", "uint8", "int8"))
@pytest.mark.parametrize("most", (100, 1 << 31))
def test_products_of_many_integers_are_those_of_few(dtype, most, table):
    generator = np.random.default_rng(0)
    x, y = [generator.integers(-most, most, (40, 40)).astype(dtype) for _ in range(2)]
    rows = [
        table.kernels["mm"].fn(x[i : i + 1], y[:, j : j + 1]) for i in range(40) for j in range(40)
    ]
    np.testing.assert_array_equal(
        table.kernels["mm"].fn(x, y).reshape(-1), np.concatenate(rows).reshape(-1)
    )
    assert table.kernels["mm"].fn(x, y).dtype == dtype
