"""Convolutions of a few images at a time against the generic kernel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dovetail_cpu.parallel import threads


@st.composite
def convolutions(draw):
    """Draw the arguments of a convolution behind input, weight and bias, and its shapes."""
    ndim = draw(st.integers(1, 3))

    def numbers(least, greatest):
        return tuple(draw(st.integers(least, greatest)) for _ in range(ndim))

    groups = draw(st.sampled_from((1, 1, 2, 5)))
    transposed = draw(st.booleans())
    channels, rows = draw(st.sampled_from(((1, 1), (1, 3), (3, 2), (9, 2), (2, 30), (30, 30))))
    kernel, stride, dilation = numbers(1, 3), numbers(1, 3), numbers(1, 2)
    spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)]
    padding = tuple([draw(st.integers(0, span)) for span in spans])
    sizes = numbers(1, 9)
    images = draw(st.integers(1, 3))
    if transposed:
        lines = zip(sizes, stride, padding, spans, strict=True)
        made = [(n - 1) * s - 2 * p + span for n, s, p, span in lines]
        assume(min(made) > 0)
        weight = (groups * channels, rows, *kernel)
    else:
        assume(all(n + 2 * p >= span for n, p, span in zip(sizes, padding, spans, strict=True)))
        weight = (groups * rows, channels, *kernel)
    how = (stride, padding, dilation, transposed, (0,) * ndim, groups)
    return (images, groups * channels, *sizes), weight, how


def close(found, expected, dtype):
    tolerance = {"float32": 2e-4, "float64": 1e-10, "complex64": 2e-4}[dtype]
    np.testing.assert_allclose(found, expected, tolerance, tolerance)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert found.flags.c_contiguous


@settings(max_examples=80, deadline=None)
@given(
    drawn=convolutions(),
    dtype=st.sampled_from(("float32", "float32", "float64", "complex64")),
    number=st.sampled_from((1, 2)),
    seed=st.integers(0, 99),
)
def test_a_convolution_and_its_gradients_agree_with_the_generic_kernels(
    drawn, dtype, number, seed, table, generic_table
):
    shape, weight_shape, how = drawn
    generator = np.random.default_rng(seed)

    def normal(size):
        made = generator.standard_normal(size) + (
            1j * generator.standard_normal(size) if dtype == "complex64" else 0
        )
        return made.astype(dtype)

    x, weight = normal(shape), normal(weight_shape)
    rows = weight_shape[1] * how[-1] if how[3] else weight_shape[0]
    before = threads.get_num_threads()
    threads.set_num_threads(number)
    try:
        args = (x, weight, normal(rows) if seed % 2 else None, *how)
        found = table.kernels["convolution"].fn(*args)
        expected = generic_table.kernels["convolution"].fn(*args)
        close(found, expected, dtype)
        args = (normal(expected.shape), x, weight, [rows], *how, (True, True, True))
        found = table.kernels["convolution_backward"].fn(*args)
        for each, other in zip(
            found, generic_table.kernels["convolution_backward"].fn(*args), strict=True
        ):
            close(each, other, dtype)
    finally:
        threads.set_num_threads(before)


@pytest.mark.parametrize("groups", (1, 4))
@pytest.mark.parametrize("where", ("input", "weight", "grad"))
@pytest.mark.parametrize("stride", (1, 2))
def test_infinities_stay_where_the_generic_kernels_have_them(
    groups, where, stride, table, generic_table
):
    generator = np.random.default_rng(0)
    x = generator.standard_normal((2, 8, 9, 9)).astype(np.float32)
    weight = generator.standard_normal((8, 8 // groups, 3, 3)).astype(np.float32)
    how = ((stride, stride), (1, 1), (1, 1), False, (0, 0), groups)
    if where == "input":
        x[1, 2, 0, 0], x[0, 3, 8, 8] = np.inf, np.nan
    if where == "weight":
        weight[1, 0, 0, 2] = -np.inf
    with np.errstate(all="ignore"):
        expected = generic_table.kernels["convolution"].fn(x, weight, None, *how)
        np.testing.assert_allclose(
            table.kernels["convolution"].fn(x, weight, None, *how), expected, 1e-3, 1e-4
        )
        grad = generator.standard_normal(expected.shape).astype(np.float32)
        if where == "grad":
            grad[0, 1, 4, 4] = np.inf
        args = (grad, x, weight, [8], *how, (True, True, True))
        for each, other in zip(
            table.kernels["convolution_backward"].fn(*args),
            generic_table.kernels["convolution_backward"].fn(*args),
            strict=True,
        ):
            np.testing.assert_allclose(each, other, 1e-3, 1e-4)


@pytest.mark.parametrize("groups", (1, 2))
def test_channels_that_come_last_are_mixed_as_in_c_order(groups, table):
    generator = np.random.default_rng(0)
    images = generator.standard_normal((3, 6, 4, 5)).astype("f4")
    last = np.moveaxis(np.ascontiguousarray(np.moveaxis(images, 1, -1)), -1, 1)
    weight = generator.standard_normal((8, 6 // groups, 1, 1)).astype("f4")
    bias = generator.standard_normal(8).astype("f4")
    how = ((1, 1), (0, 0), (1, 1), False, (0, 0), groups)
    made = [table.kernels["convolution"].fn(each, weight, bias, *how) for each in (images, last)]
    np.testing.assert_allclose(made[1], made[0], rtol=1e-5, atol=1e-5)
    assert [np.moveaxis(each, 1, -1).flags.c_contiguous for each in made] == [False, True]
    grads = [
        table.kernels["convolution_backward"].fn(y, x, weight, None, *how, (True, False, False))[0]
        for y, x in zip(made, (images, last), strict=True)
    ]
    np.testing.assert_allclose(grads[1], grads[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ("float32", "float64"))
@pytest.mark.parametrize("channels", (2, 19, 64))
@pytest.mark.parametrize("how", (((1, 1), (1, 1), (1, 1)), ((2, 1), (2, 0), (1, 2))))
def test_depthwise_results_of_channels_that_come_last_have_the_bits_of_c_order(
    how, channels, dtype, table
):
    generator = np.random.default_rng(0)
    images = generator.standard_normal((3, channels, 7, 12)).astype(dtype)
    last = np.moveaxis(np.ascontiguousarray(np.moveaxis(images, 1, -1)), -1, 1)
    weight = generator.standard_normal((channels, 1, 3, 2)).astype(dtype)
    convolve = table.kernels["convolution"].fn
    made = [convolve(x, weight, None, *how, False, (0, 0), channels) for x in (images, last)]
    np.testing.assert_array_equal(*made)
    assert np.moveaxis(made[1], 1, -1).flags.c_contiguous
    weight[0, 0, 0, 0] = np.inf  # times the zeros beyond an image it is NaN
    with np.errstate(all="ignore"):
        made = [convolve(x, weight, None, *how, False, (0, 0), channels) for x in (images, last)]
    np.testing.assert_allclose(*made, rtol=1e-4, atol=1e-5)
