"""Adding and writing at indices, of small and large arrays, against NumPy one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail_cpu.sums_of_rows import add_rows


@settings(max_examples=40, deadline=None)
@given(
    lead=st.sampled_from((1, 3, 70)),
    length=st.sampled_from((1, 5, 40)),
    inner=st.sampled_from((1, 2, 33)),
    count=st.sampled_from((1, 10, 90, 3000)),
    kind=st.sampled_from(("random", "pairs", "mirrored", "one", "strided")),
    dtype=st.sampled_from(("float32", "float64", "int64", "complex64")),
    seed=st.integers(0, 9),
)
def test_slices_are_added_however_often_one_is_named(
    lead, length, inner, count, kind, dtype, seed, table
):
    generator = np.random.default_rng(seed)
    line = np.arange(count)
    index = {
        "random": generator.integers(0, length, count),
        "pairs": line // 2 % length,
        "mirrored": np.abs(line - count // 2) % length,
        "one": np.full(count, length - 1),
        "strided": line * 2 % length,
    }[kind]
    x = (generator.standard_normal((lead, length, inner)) * 8).astype(dtype)
    source = (generator.standard_normal((lead, count, inner)) * 8).astype(dtype)
    expected = x.astype(complex if dtype == "complex64" else float)
    np.add.at(expected, (slice(None), index), source)
    for given_ in (x, np.asfortranarray(x)):
        before = given_.copy()
        found = table.kernels["index_add"].fn(given_, 1, index, source)
        assert found.dtype == x.dtype
        np.testing.assert_allclose(found, expected, 1e-3, 1e-2)
        np.testing.assert_array_equal(given_, before)


@pytest.mark.parametrize("shape", ((7,), (300, 500), (40, 3, 1000), (3, 70_000), (1, 1)))
@pytest.mark.parametrize("dtype", ("float32", "int64", "bool"))
def test_elements_are_picked_and_written_by_flat_indices(shape, dtype, kernel):
    generator = np.random.default_rng(0)
    x = (generator.standard_normal(shape) * 9).astype(dtype)
    source = (generator.standard_normal(shape) * 9).astype(dtype)
    for dim in range(len(shape)):
        # A permutation for each line: each place is written once.
        index = generator.random(shape).argsort(dim)
        np.testing.assert_array_equal(
            kernel("gather", x, dim, index), np.take_along_axis(x, index, dim)
        )
        expected = x.copy()
        np.put_along_axis(expected, index, source, dim)
        np.testing.assert_array_equal(kernel("scatter.src", x, dim, index, source), expected)


@pytest.mark.parametrize("wrong", (-1, 500))
def test_an_index_out_of_range_is_refused_in_whatever_block_it_is(wrong, kernel):
    x = np.ones((300, 500), np.float32)
    index = np.zeros(x.shape, np.int64)
    index[299, 499] = wrong
    with pytest.raises((IndexError, RuntimeError), match="out of bounds"):
        kernel("gather", x, 1, index)


@pytest.mark.parametrize("dtype", ("float32", "float16", "int64", "bool", "complex64"))
@pytest.mark.parametrize("width", (1, 2, 64, 256, 300))
@pytest.mark.parametrize(("length", "count"), ((1, 9), (7, 0), (9, 9), (20, 400), (900, 150)))
def test_rows_are_added_in_the_order_in_which_they_are_named(length, count, width, dtype):
    generator = np.random.default_rng(1)
    index = generator.integers(0, length, count)
    rows = generator.integers(-3, 4, (count, width)).astype(dtype)
    rows[:1, 0] = True if dtype == "bool" else -1 if dtype == "int64" else np.inf
    for order in "CF":
        target = np.full((length, width), 2, order=order).astype(dtype)
        expected = target.copy()
        np.add.at(expected, index, rows)
        add_rows(target, index, rows)
        np.testing.assert_array_equal(target, expected)


@pytest.mark.parametrize("shape", ((6, 5), (300, 200)), ids=("small", "large"))
@pytest.mark.parametrize("dim", (0, 1))
def test_an_index_smaller_than_the_array_names_places_along_it(shape, dim, kernel):
    generator = np.random.default_rng(0)
    x = generator.standard_normal(shape)
    sizes = [size // 2 for size in shape]
    source = generator.standard_normal([size - 1 for size in shape])
    index = generator.integers(0, shape[dim], sizes)
    where = list(np.ogrid[: sizes[0], : sizes[1]])
    where[dim] = index
    part = source[: sizes[0], : sizes[1]]
    np.testing.assert_array_equal(kernel("gather", x, dim, index), x[tuple(where)])
    for name, function in (("sum", np.add), ("prod", np.multiply), ("amax", np.maximum)):
        expected = x.copy()
        function.at(expected, tuple(where), part)
        found = kernel("scatter_reduce.two", x, dim, index, source, name)
        np.testing.assert_allclose(found, expected)
    expected = x.copy()
    expected[tuple(where)] = 2.5
    np.testing.assert_array_equal(kernel("scatter.value", x, dim, index, 2.5), expected)
    with pytest.raises(RuntimeError, match="no larger than self"):
        kernel("gather", x, dim, np.zeros([size * 2 for size in shape], np.int64))


@pytest.mark.parametrize("width", (1, 3, 200))
@pytest.mark.parametrize("dim", (0, 1))
def test_slices_are_reduced_at_each_index(width, dim, kernel):
    generator = np.random.default_rng(0)
    x = generator.standard_normal((40, 30, width)).astype("f")
    index = generator.integers(0, x.shape[dim], 25)
    source = generator.standard_normal((40, 25, width) if dim else (25, 30, width)).astype("f")
    for name, function in (("amin", np.minimum), ("amax", np.maximum), ("prod", np.multiply)):
        expected = x.copy()
        function.at(expected, (*[slice(None)] * dim, index), source)
        found = kernel("index_reduce", x, dim, index, source, name)
        np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("accumulate", (False, True))
def test_elements_are_put_at_places_counted_from_both_ends(accumulate, kernel):
    x = np.arange(12.0).reshape(3, 4)
    for each in (x, np.asfortranarray(x)):
        index, source = np.array([[0, -1], [5, -7]]), np.array([[10.0, 20.0], [30.0, 40.0]])
        expected = x.reshape(-1).copy()
        expected[[0, 11]] = [10, 31 if accumulate else 20]
        expected[5] = 5 + 70 if accumulate else 40
        found = kernel("put", each, index, source, accumulate)
        np.testing.assert_array_equal(found, expected.reshape(3, 4))
        np.testing.assert_array_equal(each, np.arange(12.0).reshape(3, 4))


def test_masked_elements_are_taken_in_their_order_and_too_few_are_refused(kernel):
    x, mask = np.zeros((2, 3)), np.array([[True, False, True], [False, True, False]])
    source = np.arange(1.0, 7.0).reshape(3, 2)
    expected = [[1, 0, 2], [0, 3, 0]]
    np.testing.assert_array_equal(kernel("masked_scatter", x, mask, source), expected)
    turned = np.asfortranarray(x), np.asfortranarray(mask)
    np.testing.assert_array_equal(kernel("masked_scatter", *turned, source), expected)
    with pytest.raises(RuntimeError, match="source has only 2"):
        kernel("masked_scatter", x, mask, source[:1])
