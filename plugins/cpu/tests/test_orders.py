"""Orders, ranks and distinct elements against stable sorting by the generic kernels and NumPy."""

from __future__ import annotations

import numpy as np
import pytest

DTYPES = ("float32", "float64", "float16", "int64", "int32", "int8", "uint8", "bool")


def numbers(shape, dtype, kind):
    generator = np.random.default_rng(0)
    x = generator.standard_normal(shape) * 50
    if kind == "equal":
        x = np.round(x / 20)
    with np.errstate(all="ignore"):
        x = x.astype(dtype)
    if kind == "odd" and x.dtype.kind == "f":
        flat = x.reshape(-1)
        flat[::3] = 0.0
        flat[1::7] = -0.0
        flat[2::11] = np.nan
        flat[5::13] = -np.nan
        flat[6::17] = -np.inf
        flat[7::19] = np.inf
        flat[8::23] = np.finfo(x.dtype).smallest_subnormal
    if kind == "odd" and dtype == "int64":
        x.reshape(-1)[::9] = np.iinfo(np.int64).min
        x.reshape(-1)[1::9] = np.iinfo(np.int64).max
    return x


@pytest.mark.parametrize("kind", ("plain", "equal", "odd"))
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", ((3000,), (3, 500), (400, 7), (5, 40, 30), (1025, 1)))
def test_the_order_of_many_elements_is_that_of_a_stable_sort(
    shape, dtype, kind, kernel, generic_table
):
    x = numbers(shape, dtype, kind)
    for given in (x, x[::-1], np.asfortranarray(x)):
        for dim in range(len(shape)):
            for descending in (False, True):
                found = kernel("sort", given, dim, descending)
                expected = generic_table.kernels["sort"].fn(given, dim, descending)
                for each, other in zip(found, expected, strict=True):
                    assert each.dtype == other.dtype
                    np.testing.assert_array_equal(each, other)
            size = shape[dim]
            for name, args in (("kthvalue", (max(1, size // 3), dim)), ("median.dim", (dim,))):
                for each, other in zip(
                    kernel(name, given, *args),
                    generic_table.kernels[name].fn(given, *args),
                    strict=True,
                ):
                    np.testing.assert_array_equal(each, other)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ("plain", "equal", "odd"))
@pytest.mark.parametrize("wanted", ((False, False), (True, False), (False, True), (True, True)))
def test_distinct_elements_are_those_of_the_generic_kernel(
    wanted, kind, dtype, kernel, generic_table
):
    for size in (0, 1, 50, 4000):
        x = numbers((size,), dtype, kind)
        for found, expected in zip(
            kernel("_unique2", x, True, *wanted),
            generic_table.kernels["_unique2"].fn(x, True, *wanted),
            strict=True,
        ):
            assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("descending", (False, True))
@pytest.mark.parametrize(
    "dtype", ("bool", "int8", "uint8", "int16", "uint16", "int32", "int64", "uint64")
)
def test_integers_of_a_small_range_are_sorted_stably(dtype, descending, kernel):
    if dtype == "bool":
        made = np.random.default_rng(0).random((3, 2000)) < 0.5
    else:
        info = np.iinfo(dtype)
        made = np.random.default_rng(0).integers(0, 300, (3, 2000))
        least = [info.min, info.max - 299, max(info.min, -150)] if info.bits > 8 else [info.min] * 3
        made = made % min(300, 1 << info.bits)
        made = np.array(
            [[int(each) + start for each in row] for row, start in zip(made, least, strict=True)],
            dtype,
        )
        if info.bits <= 16:
            made[0, :2] = info.min, info.max
    for array in (made[0], made[1], made.copy(), made.T):
        _, order = kernel("sort", array, -1, descending)
        keys = array.astype(object) if dtype != "bool" else array.astype(int)
        keys = -keys if descending else keys
        expected = [
            sorted(range(len(row)), key=row.__getitem__) for row in keys.reshape(-1, keys.shape[-1])
        ]
        np.testing.assert_array_equal(order.reshape(-1, array.shape[-1]), expected)


@pytest.mark.parametrize(
    "dtype", ("bool", "int8", "uint8", "int16", "int32", "uint32", "int64", "uint64")
)
@pytest.mark.parametrize("where", ("least", "greatest", "middle", "far apart"))
def test_distinct_integers_are_numpys_with_their_counts(dtype, where, kernel):
    size = 70_000
    if dtype == "bool":
        x = np.random.default_rng(0).random((7, size // 7)) < 0.5
        x |= where == "greatest"
    else:
        info = np.iinfo(dtype)
        x = np.random.default_rng(0).integers(0, 127, (7, size // 7)).astype(dtype)
        x += np.array({"least": info.min, "greatest": info.max - 126}.get(where, 0), dtype)
        if where == "far apart":
            x[0, :2] = info.min, info.max
    found, inverse, counts = kernel("_unique2", x, True, False, True)
    expected, times = np.unique(x, return_counts=True)
    assert found.dtype == x.dtype
    assert not inverse.size
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(counts, times)
    assert kernel("_unique2", x)[2].size == 0


@pytest.mark.parametrize("dtype", ("bool", "float32", "float16", "int64", "complex64"))
def test_what_is_not_zero_is_counted(dtype, kernel):
    x = np.tile(np.array([0, 1, 0, 2]), (30, 1000)).astype(dtype)
    if dtype != "bool" and np.dtype(dtype).kind != "i":
        x[0, :3] = np.nan, -0.0, np.inf
    expected = sum(bool(each) for each in x.reshape(-1).tolist())
    found = kernel("count_nonzero", x)
    assert (np.asarray(found).dtype, int(found)) == (np.int64, expected)
    assert int(kernel("count_nonzero", x, [0, 1])) == expected
