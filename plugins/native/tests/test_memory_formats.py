"""Compiled kernels of images whose channels come last in memory: the values of those in C order, in
the memory format that the rule of the operator says.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("dovetail_native._core", reason="built without a C compiler")

from dovetail_aten.kernel_support.geometry.memory_layout import has_channels_last
from dovetail_aten.kernel_support.result_formats import RESULT_FORMATS, ResultFormat

from .compiled_kernels import kernel
from .layouts import numbers

SHAPES = {2: ((2, 3, 8, 7), (1, 300, 5, 6), (3, 5, 9, 40)), 3: ((2, 3, 4, 5, 6), (1, 20, 3, 7, 5))}
IN_C_ORDER = ResultFormat(ndims=())

POOLINGS: dict[str, tuple[int, tuple[Any, ...]]] = {
    "max_pool2d_with_indices": (2, ([3, 2], [2, 1], [1, 0])),
    "max_pool3d_with_indices": (3, ([2, 2, 3], [1, 2, 1], [0, 0, 1], [1, 1, 2])),
    "adaptive_max_pool2d": (2, ([3, 4],)),
    "adaptive_max_pool3d": (3, ([2, 3, 2],)),
    "avg_pool2d": (2, ([3, 2], [1, 2], [1, 1])),
    "avg_pool3d": (3, ([2, 2, 3],)),
    "_adaptive_avg_pool2d": (2, ([3, 4],)),
    "_adaptive_avg_pool3d": (3, ([2, 3, 2],)),
    "constant_pad_nd": (2, ([1, -1, 0, 2, 1, 1], 1.5)),
}


def laid(value: Any) -> Any:
    """Return copies of images whose channels come last in memory; any other value as it is."""
    if isinstance(value, list):
        return [laid(each) for each in value]
    if not isinstance(value, np.ndarray) or value.ndim < 4:
        return value
    order = (0, *range(2, value.ndim), 1)
    return np.ascontiguousarray(value.transpose(order)).transpose(np.argsort(order))


@np.errstate(divide="ignore")
def compare(name: str, *args: Any, sums: bool = False) -> Any:
    """Compare results for images in channels_last with those in C order, which are returned."""
    compiled, rule = kernel(name), RESULT_FORMATS.get(name, IN_C_ORDER)
    expected, found = compiled(*args), compiled(*map(laid, args))
    several = isinstance(expected, tuple)
    for place, (one, other) in enumerate(
        zip(found, expected, strict=True) if several else [(found, expected)]
    ):
        if one.ndim > 3:
            steps = tuple([each // one.itemsize for each in one.strides])
            is_last = one.ndim in rule.ndims and place < rule.results
            assert has_channels_last(one.shape, steps) == is_last
        if sums:
            np.testing.assert_allclose(one, other, 1e-4, 1e-5)
        else:
            np.testing.assert_array_equal(one, other)
            zero = other == 0  # whose sign counts
            if one.dtype.kind == "f":
                np.testing.assert_array_equal(1 / one[zero], 1 / other[zero])
    return expected


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", POOLINGS)
def test_pooling_and_padding(name: str, dtype: str, special: bool) -> None:
    ndim, how = POOLINGS[name]
    for seed, shape in enumerate(SHAPES[ndim]):
        x = np.round(numbers(shape, dtype, seed, special))
        made = compare(name, x, *how)
        if name == "constant_pad_nd":
            continue
        pooled = made[0] if isinstance(made, tuple) else made
        grad = numbers(pooled.shape, dtype, seed + 10, special)
        if name.startswith("max"):
            strides, padding, dilation = (*how[1:], [0] * ndim, [1] * ndim)[:3]
            dilation = how[3] if len(how) > 3 else [1] * ndim
            rest = (how[0], strides, padding, dilation, False, made[1])
            compare(f"{name}_backward", grad, x, *rest)
        elif name.startswith("adaptive_max"):
            compare(f"{name}_backward", grad, x, made[1])
        elif name.startswith("_adaptive"):
            compare(f"{name}_backward", grad, x)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("ndim", [2, 3])
def test_batch_and_group_normalization(ndim: int, dtype: str) -> None:
    for seed, shape in enumerate(SHAPES[ndim]):
        x, grad = (numbers(shape, dtype, seed + 10 * i, False) for i in range(2))
        channels, pixels = shape[1], int(np.prod(shape[2:]))
        weight, bias, mean = (numbers((channels,), dtype, seed + i, False) for i in range(3))
        variance = np.abs(numbers((channels,), dtype, seed + 3, False)) + 1
        for training in (False, True):
            name = "_native_batch_norm_legit_functional"
            made = compare(name, x, weight, bias, mean, variance, training, 0.1, 1e-5, sums=True)
            rest = (weight, mean, variance, made[1], made[2], training, 1e-5, [True] * 3)
            compare("native_batch_norm_backward", grad, x, *rest, sums=True)
        groups = 1 if channels % 2 else 2
        sizes = (shape[0], channels, pixels, groups)
        made = compare("native_group_norm", x, weight, bias, *sizes, 1e-5)
        compare("native_group_norm_backward", grad, x, *made[1:], weight, *sizes, [True] * 3)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "?"])
@pytest.mark.parametrize("ndim", [2, 3])
def test_joined_images(ndim: int, dtype: str) -> None:
    for seed, shape in enumerate(SHAPES[ndim]):
        for axis in (*range(len(shape)), -1):
            x, y = (numbers(shape, "f4", seed + i, False).astype(dtype) for i in range(2))
            compare("cat", [x, np.concatenate([y, y], axis), x], axis)


def test_joined_images_of_two_formats_are_in_c_order() -> None:
    x = numbers((2, 3, 4, 5), "f4", 0, False)
    assert kernel("cat")([laid(x), x], 1).flags.c_contiguous
