"""Compiled normalization against its reference in double precision, in every layout."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dovetail

pytest.importorskip("dovetail_native._core", reason="built without a C compiler")

from .compiled_kernels import UNITS, close, kernel
from .layouts import LAYOUTS, numbers

DTYPES = ("f4", "f8")
IMAGES = ((5, 6), (300, 6), (1, 6, 2), (4, 6, 3, 5), (3, 6, 16), (2, 6, 700), (70, 12, 20))
ROWS = ((1,), (7,), (3, 1), (5, 8), (2, 3, 40), (130, 33), (2, 5000))
MASKS = ((True, True, True), (True, False, False), (False, True, True), (False, False, False))


def agree(name: str, dtype: str, arguments: tuple[Any, ...]) -> Any:
    """Call a compiled kernel and its reference on the same numbers in double precision, compare
    the results, and return those of the kernel.

    Both subtract numbers that may be nearly equal: errors are those of the greatest numbers there
    are, divided by a deviation that is at least the root of 0.001.
    """
    compiled = kernel(name)
    exact = [x.astype("f8") if isinstance(x, np.ndarray) else x for x in arguments]
    before = [np.array(x) for x in arguments if isinstance(x, np.ndarray)]
    with np.errstate(all="ignore"):
        expected = compiled.__wrapped__(*exact)
    found = compiled(*arguments)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            finite = np.abs(other[np.isfinite(other)])
            scale = max(*[np.abs(x).max() for x in before if x.size], finite.max(initial=1)) * 32
            close(one, other.astype(dtype), 64 * UNITS[dtype], scale)
            assert one.flags.c_contiguous
            assert not any(np.may_share_memory(one, x) for x in arguments if hasattr(x, "dtype"))
    for x, old in zip([x for x in arguments if isinstance(x, np.ndarray)], before, strict=True):
        np.testing.assert_array_equal(x, old)
    return found


@pytest.mark.parametrize("affine", ("", "w", "b", "wb"))
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_layer_normalization(dtype, layout, affine):
    for seed, shape in enumerate(ROWS):
        for count in range(1, len(shape) + 1):
            inner = shape[-count:]
            x = LAYOUTS[layout](numbers(shape, dtype, seed, False))
            grad = LAYOUTS[layout](numbers(shape, dtype, seed + 50, False))
            weight = numbers(inner, dtype, seed + 1, False) if "w" in affine else None
            bias = numbers(inner, dtype, seed + 2, False) if "b" in affine else None
            arguments = (x, inner, weight, bias, 1e-3)
            _, mean, rstd = agree("native_layer_norm", dtype, arguments)
            for mask in MASKS:
                arguments = (grad, x, list(inner), mean, rstd, weight, bias, mask)
                agree("native_layer_norm_backward", dtype, arguments)


@pytest.mark.parametrize("affine", ("", "wb"))
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_batch_normalization(dtype, layout, affine):
    for seed, shape in enumerate(IMAGES):
        channels = shape[1]
        x = LAYOUTS[layout](numbers(shape, dtype, seed, False))
        grad = LAYOUTS[layout](numbers(shape, dtype, seed + 50, False))
        weight = numbers((channels,), dtype, seed + 1, False) if "w" in affine else None
        bias = numbers((channels,), dtype, seed + 2, False) if "b" in affine else None
        mean = numbers((channels,), dtype, seed + 3, False)
        variance = np.abs(numbers((channels,), dtype, seed + 4, False))
        for training in (True, False):
            arguments = (x, weight, bias, mean, variance, training, 0.3, 1e-3)
            found = agree("_native_batch_norm_legit_functional", dtype, arguments)
            saved = found[1:3] if training else (None, None)
            for mask in MASKS:
                arguments = (grad, x, weight, mean, variance, *saved, training, 1e-3, mask)
                agree("native_batch_norm_backward", dtype, arguments)


@pytest.mark.parametrize("affine", ("", "wb"))
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_group_normalization(dtype, layout, affine):
    for seed, shape in enumerate(IMAGES):
        channels, pixels = shape[1], int(np.prod(shape[2:]))
        x = LAYOUTS[layout](numbers(shape, dtype, seed, False))
        grad = LAYOUTS[layout](numbers(shape, dtype, seed + 50, False))
        weight = numbers((channels,), dtype, seed + 1, False) if "w" in affine else None
        bias = numbers((channels,), dtype, seed + 2, False) if "b" in affine else None
        for groups in (1, 2, 6):
            sizes = (shape[0], channels, pixels, groups)
            arguments = (x, weight, bias, *sizes, 1e-3)
            _, mean, rstd = agree("native_group_norm", dtype, arguments)
            for mask in MASKS:
                arguments = (grad, x, mean, rstd, weight, *sizes, mask)
                agree("native_group_norm_backward", dtype, arguments)


@pytest.mark.parametrize("away", (0, 30, 500))
@pytest.mark.parametrize("shape", ((1, 8), (9, 100), (300, 600)))
def test_a_mean_far_from_0_costs_no_digits(shape, away):
    x = numbers(shape, "f4", 0, False) + np.float32(away)
    exact = x.astype("f8")
    result, mean, rstd = kernel("native_layer_norm")(x, shape[-1:], None, None, 1e-5)
    spread = np.sqrt(exact.var(1, keepdims=True) + 1e-5)
    unit = UNITS["f4"]
    np.testing.assert_allclose(rstd, 1 / spread, 16 * unit)
    np.testing.assert_allclose(mean, exact.mean(1, keepdims=True), 4 * unit, 4 * unit)
    # The mean is rounded to single precision.
    expected = (exact - exact.mean(1, keepdims=True)) / spread
    np.testing.assert_allclose(result, expected, 16 * unit, unit * (16 + away / spread.min()))


@pytest.mark.parametrize("value", (np.nan, np.inf, -np.inf))
def test_a_special_number_stays_in_its_row(value):
    x = numbers((70, 512), "f4", 0, False)
    clean = kernel("native_layer_norm")(x, (512,), None, None, 1e-5)
    x[33, 7] = value
    odd = kernel("native_layer_norm")(x, (512,), None, None, 1e-5)
    for made, expected in zip(odd, clean, strict=True):
        assert not np.isfinite(made[33]).all()
        np.testing.assert_array_equal(np.delete(made, 33, 0), np.delete(expected, 33, 0))


def test_constant_rows_have_no_variance():
    x = np.full((3, 1000), 1e4 / 3, "f4")
    result, _, rstd = kernel("native_layer_norm")(x, (1000,), None, None, 1e-5)
    assert np.all(result == 0)
    np.testing.assert_allclose(rstd, 1e-5**-0.5, 1e-6)


def test_wrong_arguments_are_the_references():
    norm, x = kernel("native_layer_norm"), np.ones((2, 3), "f4")
    for shape in ((2,), (), (1, 2, 3), (4,)):
        with pytest.raises(RuntimeError):
            norm(x, shape, None, None, 1e-5)
    with pytest.raises(RuntimeError):
        norm(x, (3,), np.ones(2, "f4"), None, 1e-5)
    with pytest.raises(RuntimeError):
        norm(x, (3,), np.ones(3, "f8"), None, 1e-5)
    with pytest.raises(NotImplementedError):
        norm(np.ones((2, 3), "i8"), (3,), None, None, 1e-5)
    batch, one = kernel("_native_batch_norm_legit_functional"), np.ones(3, "f4")
    with pytest.raises(RuntimeError):
        batch(x, one[:2], None, one, one, True, 0.1, 1e-5)
    with pytest.raises(RuntimeError):
        batch(x, None, None, one[:2], one, True, 0.1, 1e-5)
    with pytest.raises(RuntimeError):
        kernel("native_group_norm")(x, None, None, 2, 3, 1, 2, 1e-5)
    back = kernel("native_layer_norm_backward")
    with pytest.raises(RuntimeError):
        back(x, x, (3,), np.ones((3, 1), "f4"), np.ones((2, 1), "f4"), None, None, MASKS[0])


@pytest.mark.parametrize("shape", ((0, 3), (3, 0), (0, 3, 4), (2, 3, 0)))
def test_nothing_is_normalized(shape):
    x = np.ones(shape, "f4")
    for made, expected in zip(
        kernel("native_layer_norm")(x, shape[1:], None, None, 1e-5),
        kernel("native_layer_norm").__wrapped__(x, shape[1:], None, None, 1e-5),
        strict=True,
    ):
        np.testing.assert_array_equal(made, expected)


def test_a_shape_is_taken_as_any_sequence_of_sizes() -> None:
    x = dovetail.from_numpy(numbers((8, 1024), np.float32, 0, False)).cpu()
    for shape in ([1024], (1024,), x.shape[-1:]):
        for _ in range(2):  # the second call is that of the entry
            found = dovetail.nn.functional.layer_norm(x, shape)
            assert found.equal(dovetail.nn.functional.layer_norm(x, [1024])), type(shape)
