"""Compiled running sums, products and extrema, against NumPy in a wider dtype."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("dovetail_native._core", reason="built without a C compiler")

from dovetail_native import _core

from .layouts import LAYOUTS, numbers

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
HALVES = (np.dtype("f2"), BFLOAT16)
SHAPES = ((7,), (5, 4, 6), (3, 1, 9), (2, 70, 3), (4, 3, 130), (1, 1))
WIDE = {"f4": "f8", "f8": "f8", "c8": "c16", "c16": "c16", "f2": "f4", BFLOAT16: "f4"}
ORDERED = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "f4", "f8", *HALVES)


def declined(*_: Any, **__: Any) -> Any:
    """Stand for a reference that is not to be called."""
    raise AssertionError("the compiled kernel left its arguments to the reference")


def compiled(name: str) -> Any:
    """Return a compiled kernel that may leave no arguments to its reference."""
    return _core.CompiledKernel(name, declined)


def array(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> np.ndarray:
    """Return numbers, of floating dtypes also special ones."""
    with np.errstate(all="ignore"):
        special = np.dtype(dtype).kind == "f" or dtype is BFLOAT16
        return numbers(shape, "f8", seed, special).astype(dtype)


def same(found: np.ndarray, expected: np.ndarray) -> None:
    """Check values, signs of zeros, and C order."""
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    assert found.flags.c_contiguous
    if found.dtype == BFLOAT16:  # whose NaN NumPy does not know
        found, expected = found.astype("f4"), expected.astype("f4")
    np.testing.assert_array_equal(found, expected)
    if found.dtype.kind == "f":
        real = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found[real]), np.signbit(expected[real]))


@pytest.mark.parametrize("dtype", WIDE, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("name", "ufunc"), (("cumsum", np.add), ("cumprod", np.multiply)))
def test_sums_and_products_run_in_a_wider_dtype_and_are_rounded_once(name, ufunc, layout, dtype):
    for seed, shape in enumerate(SHAPES):
        x = LAYOUTS[layout](array(shape, dtype, seed))
        for axis in range(x.ndim):
            with np.errstate(all="ignore"):
                expected = ufunc.accumulate(x, axis, WIDE[dtype]).astype(dtype)
            same(compiled(name)(x, axis), np.ascontiguousarray(expected))
            same(compiled(name)(x, axis - x.ndim, dtype=None), np.ascontiguousarray(expected))


@pytest.mark.parametrize("dtype", ("?", "i1", "i4", "i8", "u1", "u2"))
@pytest.mark.parametrize(("name", "ufunc"), (("cumsum", np.add), ("cumprod", np.multiply)))
def test_integers_run_in_int64_and_wrap(name, ufunc, dtype):
    x = np.random.default_rng(0).integers(0, 2 if dtype == "?" else 100, (5, 40, 3)).astype(dtype)
    if dtype == "i8":
        x[:, 1] = 2**62
    for axis in range(3):
        same(compiled(name)(x, axis), ufunc.accumulate(x, axis, "i8"))
        expected = ufunc.accumulate(x.astype("f8"), axis)
        same(compiled(name)(x, axis, dtype=np.dtype("f8")), expected)


@pytest.mark.parametrize(
    ("dtype", "wanted"), (("i8", "i4"), ("f8", "f4"), ("c8", "f4"), ("u8", None), ("f4", "?"))
)
def test_dtypes_that_lose_numbers_are_the_references(dtype, wanted):
    with pytest.raises(AssertionError, match="left its arguments"):
        compiled("cumsum")(np.ones(3, dtype), 0, dtype=wanted and np.dtype(wanted))


def extrema(x: np.ndarray, axis: int, greatest: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return running extrema, of equal ones the index of the last, NaN above and below all."""
    lines = np.moveaxis(x, axis, -1)
    values, indices = lines.copy(), np.zeros(lines.shape, "i8")
    for place in np.ndindex(lines.shape[:-1]):
        best, at = lines[place][0], 0
        for i, each in enumerate(lines[place]):
            if each != each or (each >= best if greatest else each <= best):
                best, at = each, i
            values[(*place, i)], indices[(*place, i)] = best, at
    return tuple([np.ascontiguousarray(np.moveaxis(each, -1, axis)) for each in (values, indices)])


@pytest.mark.parametrize("dtype", ORDERED, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_extrema_and_their_last_indices_run(layout, dtype):
    for seed, shape in enumerate(SHAPES[:4]):
        x = LAYOUTS[layout](array(shape, dtype, seed))
        for axis in range(x.ndim):
            for name in ("cummax", "cummin"):
                values, indices = compiled(name)(x, axis)
                expected = extrema(x, axis, name == "cummax")
                same(values, expected[0])
                same(indices, expected[1])


def test_sums_that_overflow_on_the_way_come_back():
    x = np.array([3e38, 3e38, -3e38], "f4")
    np.testing.assert_array_equal(compiled("cumsum")(x, 0), np.array([3e38, np.inf, 3e38], "f4"))
