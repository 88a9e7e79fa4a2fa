"""Compiled resampling against its reference: every kind, layout and memory format."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("dovetail_native._core", reason="built without a C compiler")

from .compiled_kernels import UNITS, close, kernel
from .layouts import LAYOUTS, numbers

KINDS = {
    1: ("upsample_nearest1d", "_upsample_nearest_exact1d", "upsample_linear1d"),
    2: (
        "upsample_nearest2d",
        "_upsample_nearest_exact2d",
        "upsample_bilinear2d",
        "upsample_bicubic2d",
        "_upsample_bilinear2d_aa",
        "_upsample_bicubic2d_aa",
    ),
    3: ("upsample_nearest3d", "_upsample_nearest_exact3d", "upsample_trilinear3d"),
}
SHAPES = {
    1: ((2, 3, 1), (1, 2, 17), (3, 1, 40)),
    2: ((2, 3, 5, 4), (1, 2, 1, 9), (1, 1, 31, 17)),
    3: ((2, 2, 3, 4, 5), (1, 1, 7, 1, 2)),
}
FACTORS = (1.0, 0.3, 2.0, 2.7, 0.5)
OPERATORS = [(ndim, name) for ndim, names in KINDS.items() for name in names]


def calls(name, ndim, shape):
    """Yield what follows images: sizes, corners and factors."""
    for number, factor in enumerate(FACTORS):
        sizes = [max(int(each * factor), 1) for each in shape[2:]]
        if number == 3:
            sizes[-1] = 1
        for scales in ((None,) * ndim, (factor,) * ndim):
            if "nearest" in name:
                yield sizes, *scales
            else:
                yield sizes, False, *scales
                yield sizes, True, *scales


def channels_last(array):
    """Return a copy with the channels last in memory."""
    made = np.moveaxis(np.ascontiguousarray(np.moveaxis(array, 1, -1)), -1, 1)
    assert made.shape == array.shape
    return made


def same_order(found, expected):
    """Check that memory is ordered alike, but for dimensions of one element."""
    axes = [axis for axis, size in enumerate(expected.shape) if size > 1]
    assert [found.strides[axis] for axis in axes] == [expected.strides[axis] for axis in axes]


@pytest.mark.parametrize("special", (False, True))
@pytest.mark.parametrize("dtype", ("f4", "f8"))
@pytest.mark.parametrize(("ndim", "name"), OPERATORS)
def test_values_and_gradients(ndim, name, dtype, special):
    compiled, backward = kernel(name), kernel(f"{name}_backward")
    for seed, shape in enumerate(SHAPES[ndim]):
        x = numbers(shape, dtype, seed, special and "aa" not in name)
        for sizes, *details in calls(name, ndim, shape):
            with np.errstate(all="ignore"):
                expected = compiled.__wrapped__(x, sizes, *details)
            found = compiled(x, sizes, *details)
            assert found.flags.c_contiguous
            close(found, expected, 4 * UNITS[dtype], 4)
            grad = numbers(expected.shape, dtype, seed + 9, False)
            made = backward(grad, sizes, shape, *details)
            assert made.flags.c_contiguous
            close(made, backward.__wrapped__(grad, sizes, shape, *details), 64 * UNITS[dtype], 30)


@pytest.mark.parametrize("layout", (*LAYOUTS, "channels last"))
@pytest.mark.parametrize(("ndim", "name"), OPERATORS)
def test_layouts_have_the_same_bits_and_the_order_of_the_reference(ndim, name, layout):
    change = LAYOUTS.get(layout, channels_last)
    for shape in SHAPES[ndim]:
        x = change(numbers(shape, "f4", 1, False))
        for sizes, *details in list(calls(name, ndim, shape))[::3]:
            found = kernel(name)(x, sizes, *details)
            np.testing.assert_array_equal(found, kernel(name)(x.copy("C"), sizes, *details))
            same_order(found, kernel(name).__wrapped__(x, sizes, *details))
            grad = change(numbers(found.shape, "f4", 2, False))
            backward = kernel(f"{name}_backward")
            made = backward(grad, sizes, shape, *details)
            close(made, backward(grad.copy("C"), sizes, shape, *details), 64 * UNITS["f4"], 30)
            same_order(made, backward.__wrapped__(grad, sizes, shape, *details))


@pytest.mark.parametrize("dtype", (np.float16, ml_dtypes.bfloat16, np.uint8))
@pytest.mark.parametrize(("ndim", "name"), OPERATORS)
def test_half_precision_and_bytes_give_what_the_reference_does(ndim, name, dtype):
    compiled, backward = kernel(name), kernel(f"{name}_backward")
    is_bytes = dtype is np.uint8
    for shape in SHAPES[ndim]:
        x = np.abs(numbers(shape, "f4", 1, False) * 50).astype(dtype)
        for sizes, *details in list(calls(name, ndim, shape))[::3]:
            if "aa" in name and not is_bytes:
                with pytest.raises(NotImplementedError):
                    compiled(x, sizes, *details)
                continue
            expected = compiled.__wrapped__(x, sizes, *details)
            found = compiled(x, sizes, *details)
            assert found.dtype == dtype
            np.testing.assert_array_equal(found, expected)
            if not is_bytes:
                made = backward(found, sizes, shape, *details)
                assert made.dtype == dtype
                wide = backward(found.astype("f4"), sizes, shape, *details)
                np.testing.assert_array_equal(made, wide.astype(dtype))


@pytest.mark.parametrize("scale", (1e-30, 1e-2, 1e30, np.inf, np.nan, -1.0, 0.0, 5e-324))
@pytest.mark.parametrize(("ndim", "name"), OPERATORS)
def test_any_factor_reads_within_the_image(ndim, name, scale):
    x = numbers(SHAPES[ndim][0], "f4", 1, False)
    corners = () if "nearest" in name else (False,)
    sizes, scales = [5] * ndim, [scale] * ndim
    with np.errstate(all="ignore"):
        try:
            expected = kernel(name).__wrapped__(x, sizes, *corners, *scales)
        except (RuntimeError, MemoryError, OverflowError, ValueError):
            return  # no memory for all taps
        found = kernel(name)(x, sizes, *corners, *scales)
    np.testing.assert_allclose(found, expected, 1e-4, 1e-4)


def test_what_does_not_fit_is_refused():
    linear, backward = kernel("upsample_bilinear2d"), kernel("upsample_bilinear2d_backward")
    x = np.ones((2, 3, 4, 5), "f4")
    for images, sizes in (
        (x[0], (3, 3)),
        (x, (3,)),
        (x, (0, 3)),
        (x, (-1, 3)),
        (x[:, :, :0], (3, 3)),
    ):
        with pytest.raises(RuntimeError):
            linear(images, sizes, False, None, None)
    for sizes in ((2, 3, 4, 4), (1, 3, 4, 5), (2, 3, 4)):
        if sizes != (2, 3, 4, 4):  # those of another image are right
            with pytest.raises(RuntimeError):
                backward(x, (4, 5), sizes, False, None, None)
    with pytest.raises(RuntimeError):
        backward(x, (4, 6), (2, 3, 4, 5), False, None, None)
    assert linear(x[:0], (3, 3), False, None, None).shape == (0, 3, 3, 3)
