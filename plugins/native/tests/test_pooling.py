"""Compiled pooling against its reference, in every layout."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("dovetail_native._core", reason="built without a C compiler")

from .compiled_kernels import UNITS, close, kernel
from .layouts import LAYOUTS, numbers

DTYPES = ("f4", "f8")
HALVES = (np.dtype("f2"), np.dtype(ml_dtypes.bfloat16))
REPEATING = ("expanded", "one element", "overlapping")
IMAGES = {
    2: ((1, 5, 6), (2, 3, 8, 8), (3, 1, 1, 40), (2, 2, 31, 17), (1, 1, 3, 700)),
    3: ((2, 3, 4, 5), (1, 2, 6, 5, 40), (2, 1, 1, 7, 3)),
}


def windows(ndim: int) -> list[tuple[Any, ...]]:
    """Return kernel sizes, strides, paddings, dilations and the ceil mode of poolings."""
    random = np.random.default_rng(ndim)
    made: list[tuple[Any, ...]] = [([2], (), [0], [1], False), ([3], [2], [1], [1], True)]
    for _ in range(20):
        kernel_size = random.integers(1, 5, ndim)
        padding = [int(random.integers(0, each // 2 + 1)) for each in kernel_size]
        strides, dilations = random.integers(1, 5, ndim), random.integers(1, 3, ndim)
        lists = [tuple(map(int, each)) for each in (kernel_size, strides, padding, dilations)]
        made.append((*lists, bool(random.random() < 0.5)))
    return made


def check_equal(found: Any, expected: Any) -> None:
    """Check that results are in C order and the same to the bit."""
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert one.flags.c_contiguous
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(np.signbit(one), np.signbit(other))


@pytest.mark.parametrize("special", (False, True))
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ndim", (2, 3))
def test_maxima_and_their_gradients(ndim, dtype, layout, special):
    compiled, backward = (
        kernel(f"max_pool{ndim}d_with_indices{rest}") for rest in ("", "_backward")
    )
    for seed, shape in enumerate(IMAGES[ndim]):
        x = LAYOUTS[layout](np.round(numbers(shape, dtype, seed, special)))
        before = x.copy()
        for how in windows(ndim):
            try:
                expected = compiled.__wrapped__(x, *how)
            except RuntimeError as error:
                with pytest.raises(RuntimeError) as found:
                    compiled(x, *how)
                assert str(found.value) == str(error)
                continue
            check_equal(compiled(x, *how), expected)
            if expected[1].max() >= np.prod(shape[-ndim:]):
                continue  # a window with no element of the image: PyTorch gives it such an index
            grad = LAYOUTS[layout](numbers(expected[0].shape, dtype, seed + 9, False))
            indices = LAYOUTS[layout](expected[1]) if layout not in REPEATING else expected[1]
            made = backward(grad, x, *how, indices)
            close(made, backward.__wrapped__(grad, x, *how, indices), 8 * UNITS[dtype], 100)
        np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ndim", (2, 3))
def test_averages_and_their_gradients(ndim, dtype, layout):
    compiled, backward = kernel(f"avg_pool{ndim}d"), kernel(f"avg_pool{ndim}d_backward")
    for seed, shape in enumerate(IMAGES[ndim]):
        x = LAYOUTS[layout](numbers(shape, dtype, seed, False))
        for number, (kernel_size, stride, padding, _, ceil_mode) in enumerate(windows(ndim)):
            how = (
                kernel_size,
                stride,
                padding,
                ceil_mode,
                number % 2 == 0,
                (None, 3, -7)[seed % 3],
            )
            try:
                expected = compiled.__wrapped__(x, *how)
            except RuntimeError as error:
                with pytest.raises(RuntimeError) as found:
                    compiled(x, *how)
                assert str(found.value) == str(error)
                continue
            close(compiled(x, *how), expected, 16 * UNITS[dtype], 30)
            grad = LAYOUTS[layout](numbers(expected.shape, dtype, seed + 9, False))
            made = backward(grad, x, *how)
            close(made, backward.__wrapped__(grad, x, *how), 16 * UNITS[dtype], 100)


@pytest.mark.parametrize("special", (False, True))
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ndim", (2, 3))
def test_nearly_equal_windows(ndim, dtype, layout, special):
    maxima, averages = (
        kernel(f"{name}{ndim}d") for name in ("adaptive_max_pool", "_adaptive_avg_pool")
    )
    random = np.random.default_rng(ndim)
    for seed, shape in enumerate(IMAGES[ndim]):
        x = LAYOUTS[layout](np.round(numbers(shape, dtype, seed, special)))
        for sizes in (
            (1,) * ndim,
            *[tuple(map(int, random.integers(0, 12, ndim))) for _ in range(9)],
        ):
            check_equal(maxima(x, sizes), maxima.__wrapped__(x, sizes))
            if special:
                continue
            found, expected = averages(x, sizes), averages.__wrapped__(x, sizes)
            close(found, expected, 16 * UNITS[dtype], 30)
            grad = LAYOUTS[layout](numbers(found.shape, dtype, seed + 9, False))
            backward = kernel(f"_adaptive_avg_pool{ndim}d_backward")
            close(backward(grad, x), backward.__wrapped__(grad, x), 64 * UNITS[dtype], 30)
            indices = maxima(x, sizes)[1]
            backward = kernel(f"adaptive_max_pool{ndim}d_backward")
            close(
                backward(grad, x, indices),
                backward.__wrapped__(grad, x, indices),
                64 * UNITS[dtype],
                30,
            )


@pytest.mark.parametrize("dtype", DTYPES)
def test_averages_of_large_windows_lose_no_more_than_pairwise_sums(dtype):
    x = numbers((2, 3, 301, 257), dtype, 0, False) + np.dtype(dtype).type(100)
    exact = x.astype("f8").mean((2, 3), keepdims=True)
    found = kernel("_adaptive_avg_pool2d")(x, (1, 1))
    np.testing.assert_allclose(found, exact, 4 * UNITS[dtype])
    np.testing.assert_allclose(kernel("avg_pool2d")(x, [301, 257]), exact, 4 * UNITS[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ndim", (2, 3))
def test_unpooling(ndim, dtype):
    unpool = kernel(f"max_unpool{ndim}d")
    rest = () if ndim == 2 else ([2] * 3, [0] * 3)
    x = numbers((2, 3, *[6] * ndim), dtype, 0, False)
    values, indices = kernel(f"max_pool{ndim}d_with_indices")(x, [2])
    for layout in ("C order", "gaps", "negative steps", "last axes swapped"):
        given = (LAYOUTS[layout](values), LAYOUTS[layout](indices), [6] * ndim, *rest)
        check_equal([unpool(*given)], [unpool.__wrapped__(*given)])
    for wrong in (-1, 6**ndim, 1 << 62):
        odd = indices.copy()
        odd[1, 2, 0, 1] = wrong
        with pytest.raises(RuntimeError, match="invalid max index"):
            unpool(values, odd, [6] * ndim, *rest)
        backward = kernel(f"adaptive_max_pool{ndim}d_backward")
        with pytest.raises(RuntimeError, match="invalid max index"):
            backward(values, x, odd)


def check_rounded(made: np.ndarray, wide: np.ndarray) -> None:
    """Check that numbers in half precision are those in single precision, rounded."""
    assert made.dtype in HALVES
    with np.errstate(over="ignore"):
        check_equal([made.astype("f4")], [wide.astype(made.dtype).astype("f4")])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("ndim", (2, 3))
def test_halves_are_pooled_in_single_precision_and_rounded_once(ndim, dtype, layout):
    for seed, shape in enumerate(IMAGES[ndim]):
        with np.errstate(over="ignore"):
            x = LAYOUTS[layout](numbers(shape, "f4", seed, True).astype(dtype))
        for name, arguments in (
            (f"max_pool{ndim}d_with_indices", ([2], (), [1], [1], True)),
            (f"avg_pool{ndim}d", ([2], (), [1], True)),
            (f"adaptive_max_pool{ndim}d", ([2] * ndim,)),
            (f"_adaptive_avg_pool{ndim}d", ([2] * ndim,)),
        ):
            pool = kernel(name)
            assert pool.takes_halves
            made, wide = pool(x, *arguments), pool(x.astype("f4"), *arguments)
            if name.startswith(("max", "adaptive_max")):
                (made, indices), (wide, expected) = made, wide
                check_equal([indices], [expected])
                back = kernel(f"{name}_backward")
                rest = () if len(arguments) == 1 else arguments
                given = back(made, x, *rest, indices)
                exact = back(made.astype("f4"), x.astype("f4"), *rest, indices)
                check_rounded(given, exact)
            check_rounded(made, wide)


def test_wrong_arguments_are_the_references():
    pool, average = kernel("max_pool2d_with_indices"), kernel("avg_pool2d")
    x = np.ones((2, 3, 5, 5), "f4")
    for how in (
        ([0],),
        ([2, 2, 2],),
        ([2], [0]),
        ([2], [1, 1, 1]),
        ([2], [1], [2]),
        ([2], [1], [-1]),
        ([2], [1], [0], [0]),
        ([9],),
        ([1 << 40],),
        ([2], [1], [0], [1 << 40]),
    ):
        with pytest.raises(RuntimeError):
            pool(x, *how)
    for wrong in (x[0, 0], x[None], np.ones((2, 0, 5, 5), "f4")):
        with pytest.raises(RuntimeError):
            pool(wrong, [2])
        with pytest.raises(RuntimeError):
            average(wrong, [2])
    with pytest.raises(RuntimeError, match="divisor"):
        average(x, [2], [2], [0], False, True, 0)
    with pytest.raises(RuntimeError):
        kernel("avg_pool2d_backward")(x, x, [2], [2], [0], False, True, None)
    values, indices = pool(x, [2])
    with pytest.raises(RuntimeError):
        kernel("max_pool2d_with_indices_backward")(values[:1], x, [2], [], [0], [1], False, indices)
    with pytest.raises(RuntimeError):
        kernel("max_pool2d_with_indices_backward")(values, x, [2], [], [0], [1], False, indices[:1])
    integers = np.arange(50).reshape(1, 2, 5, 5)
    np.testing.assert_array_equal(pool(integers, [2])[0][0, 0], [[6, 8], [16, 18]])


def test_images_of_no_batch_are_pooled():
    x = np.ones((0, 3, 5, 5), "f4")
    assert [each.shape for each in kernel("max_pool2d_with_indices")(x, [2])] == [(0, 3, 2, 2)] * 2
    assert kernel("avg_pool2d")(x, [2]).shape == (0, 3, 2, 2)
