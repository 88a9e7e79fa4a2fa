"""Passes over long rows, which go row by row, give what the generic kernels give in float64."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail_cpu import silence, threads
from dovetail_cpu.scratch import BLOCK_BYTES

LIMITS = {"float32": 3e-6, "float64": 1e-13}
BLOCK = BLOCK_BYTES // 4
SHAPES = [
    (40, 255),
    (40, 256),
    (3, 257),
    (17, 1024),
    (BLOCK // 1024 + 1, 1024),
    (2 * BLOCK // 300 + 3, 300),
    (5, BLOCK // 2),
    (3, BLOCK // 2 + 1),
    (1, 5000),
]


def numbers(shape, dtype, seed=0):
    return (np.random.default_rng(seed).standard_normal(shape) * 3 + 1).astype(dtype)


def close(made, expected, dtype):
    assert made.dtype == dtype
    limit = LIMITS[dtype]
    scale = max(1.0, np.abs(expected[np.isfinite(expected)]).max(initial=0))
    np.testing.assert_allclose(made, expected, limit, limit * scale)


def wide(arrays):
    return [None if each is None else each.astype(np.float64) for each in arrays]


def compare(name, table, generic_table, dtype, arrays, *more):
    """Compare a kernel with the generic one; `more` are arguments, or None for the next array."""
    function, generic = table.kernels[name].fn, generic_table.kernels[name].fn
    given, exact = iter(arrays), iter(wide(arrays))
    with np.errstate(all="ignore"):
        found = function(*[next(given) if each is ... else each for each in more])
        expected = generic(*[next(exact) if each is ... else each for each in more])
    if not isinstance(found, tuple):
        found, expected = (found,), (expected,)
    for one, other in zip(found, expected, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            assert one.flags.c_contiguous
            close(one, other, dtype)


@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize(("rows", "length"), SHAPES)
@pytest.mark.parametrize("given", [(True, True), (True, False), (False, True), (False, False)])
def test_layer_normalization_and_its_gradient(rows, length, given, dtype, table, generic_table):
    x, grad = numbers((rows, length), dtype), numbers((rows, length), dtype, 1)
    weight, bias = [
        numbers(length, dtype, seed) if use else None for seed, use in enumerate(given, 2)
    ]
    compare(
        *("native_layer_norm", table, generic_table, dtype, [x, weight, bias]),
        *(..., (length,), ..., ..., 1e-5),
    )
    center, spread = x.astype(np.float64).mean(1), x.astype(np.float64).std(1)
    mean, rstd = [each[:, None].astype(dtype) for each in (center, 1 / spread)]
    for mask in ((True, True, True), (False, True, False)):
        compare(
            *("native_layer_norm_backward", table, generic_table, dtype),
            [grad, x, mean, rstd, weight, bias],
            *(..., ..., (length,), ..., ..., ..., ..., mask),
        )


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_row_with_a_special_number_leaves_the_others_as_they_are(value, table):
    x = numbers((70, 512), np.float32)
    clean = table.kernels["native_layer_norm"].fn(x, (512,), None, None, 1e-5)
    x[33, 7] = value
    with np.errstate(all="ignore"):
        odd = table.kernels["native_layer_norm"].fn(x, (512,), None, None, 1e-5)
    for made, expected in zip(odd, clean, strict=True):
        assert not np.isfinite(made[33]).all() or not made[33].all()
        np.testing.assert_array_equal(np.delete(made, 33, 0), np.delete(expected, 33, 0))


def test_the_number_of_threads_does_not_change_normalized_rows(table):
    x = numbers((3 * BLOCK // 256, 256), np.float32)
    before = threads.get_num_threads()
    try:
        made = []
        for number in (1, 3):
            threads.set_num_threads(number)
            made.append(table.kernels["native_layer_norm"].fn(x, (256,), None, None, 1e-5))
    finally:
        threads.set_num_threads(before)
    for one, other in zip(*made, strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_goes_row_by_row_leaves_the_state_of_numpy_as_it_was():
    def fail():
        assert np.getbufsize() == silence.LONG_ROW
        assert np.geterr() == dict.fromkeys(np.geterr(), "ignore")
        raise ValueError

    with np.errstate(over="raise"):
        before = np.geterr(), np.getbufsize()
        with pytest.raises(ValueError):
            silence.row_by_row(fail)()
        assert (np.geterr(), np.getbufsize()) == before


@pytest.mark.parametrize("length", [511, 512, 700])
def test_gathering_from_long_lines(length, kernel):
    rng = np.random.default_rng(length)
    x = rng.standard_normal((3, 20, length))
    index = rng.integers(0, length, (3, 20, 512))
    np.testing.assert_array_equal(kernel("gather", x, 2, index), np.take_along_axis(x, index, 2))
    fewer = index[:2]
    np.testing.assert_array_equal(
        kernel("gather", x, 2, fewer), np.take_along_axis(x[:2], fewer, 2)
    )


@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize("size", [(1 << 20) - 1, 1 << 20, (1 << 22) + 5])
def test_sums_of_very_many_numbers(size, dtype, kernel):
    x = np.random.default_rng(0).uniform(0, 1, size).astype(dtype)
    exact = x.astype(np.float64).sum()
    assert abs(float(kernel("sum", x)) - exact) < (4e-7 if dtype == "float32" else 1e-14) * exact


@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize("shape", [(3, 70, 100), (1 << 13, 3), (2, 1 << 14), (40, 512)])
@pytest.mark.parametrize("name", ["amax", "amin"])
def test_extrema_of_rows(name, shape, dtype, kernel):
    x = numbers(shape, dtype)
    x[1, 2], x[0, 0] = np.nan, -np.inf
    expected = getattr(np, name)(x, -1)
    np.testing.assert_array_equal(kernel(name, x, (-1,)), expected)
    np.testing.assert_array_equal(kernel(name, x, -1, True), expected[..., None])
    turned = np.ascontiguousarray(x.T).T
    np.testing.assert_array_equal(kernel(name, turned, (-1,)), expected)


@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize("width", [2047, 2048, 2500])
def test_wide_rows_are_added_where_an_index_names_them(width, dtype, kernel):
    rng = np.random.default_rng(width)
    x, rows = numbers((7, width), dtype), numbers((50, width), dtype, 1)
    index = rng.integers(0, 7, 50)
    expected = x.astype(np.float64)
    np.add.at(expected, index, rows)
    made = kernel("index_add", x, 0, index, rows)
    close(made, expected, dtype)
