"""Shapes of pooling, and what is wrong with its arguments, in PyTorch's words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from dovetail_kernel import dtype as DType
from dovetail_kernel import int64

from ....kernel_support.dims import check_size
from ....kernel_support.geometry.window_geometry import Window, per_dimension
from .segments import Divisors, Runs

_NUMBERS = {1: "one int", 2: "two ints", 3: "three ints"}


def pooled_windows(
    name: str,
    ndim: int,
    shape: Sequence[int],
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
) -> tuple[Window, ...]:
    """Return the windows over the last `ndim` dimensions of images of a shape.

    Raises
    ------
    RuntimeError
        For an invalid shape or number; `name` is the name of the function.
    """
    return _pooled_windows(
        *[name, ndim, tuple(shape), tuple(kernel_size), tuple(stride or kernel_size)],
        *[tuple(padding), tuple(dilation), bool(ceil_mode)],
    )


@lru_cache(maxsize=1024)
def _pooled_windows(
    name: str,
    ndim: int,
    shape: tuple[int, ...],
    kernel_size: tuple[int, ...],
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    ceil_mode: bool,
) -> tuple[Window, ...]:
    given = {"kernel_size": kernel_size, "stride": stride, "padding": padding, "dilation": dilation}
    for each, numbers in given.items():
        if len(numbers) not in (1, ndim):
            omitted = "be omitted, " if each == "stride" else ""
            raise RuntimeError(
                f"{name}: {each} must either {omitted or 'be '}a single int, or a tuple of "
                f"{_NUMBERS[ndim]}"
            )
    kernels, strides, paddings, dilations = [per_dimension(each, ndim) for each in given.values()]
    for each, numbers in (("kernel size", kernels), ("stride", strides), ("dilation", dilations)):
        if min(numbers) < 1:
            raise RuntimeError(
                f"{each} should be greater than zero, but got {list(numbers)} for {name}"
            )
    for kernel, pad, apart in zip(kernels, paddings, dilations, strict=True):
        if pad < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {pad}")
        if pad > ((kernel - 1) * apart + 1) // 2:
            raise RuntimeError(
                "pad should be at most half of effective kernel size, but got "
                f"pad={pad}, kernel_size={kernel} and dilation={apart}"
            )
        if pad > kernel // 2:
            raise RuntimeError(
                "pad should be smaller than or equal to half of kernel size, but got "
                f"pad={pad} and kernel_size={kernel}"
            )
    check_images(name, ndim, shape)
    rows = zip(shape[-ndim:], kernels, strides, paddings, dilations, strict=True)
    windows = tuple([Window(*row, _pooled_size(*row, ceil_mode)) for row in rows])
    made = [window.number for window in windows]
    if min(made) < 1:
        channels = shape[-ndim - 1]
        raise RuntimeError(
            f"Given input size: ({_by(channels, *shape[-ndim:])}). Calculated output size: "
            f"({_by(channels, *[max(n, 0) for n in made])}). Output size is too small"
        )
    return windows


def _pooled_size(
    size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool
) -> int:
    """Return the number of windows; with `ceil_mode` the last may reach beyond the padding, if it
    begins within.
    """
    left = size + 2 * padding - dilation * (kernel - 1) - 1
    number = (left + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (number - 1) * stride >= size + padding:
        number -= 1
    return number


def check_images(name: str, ndim: int, shape: Sequence[int]) -> None:
    """Raise an error for anything except images with channels or a batch of them, and for images
    without elements. Raises RuntimeError with the shape.
    """
    if len(shape) not in (ndim + 1, ndim + 2):
        raise RuntimeError(
            f"{name}: non-empty {ndim + 1}D or {ndim + 2}D (batch mode) tensor expected for input, "
            f"but got: {list(shape)}"
        )
    if 0 in shape[-ndim - 1 :]:
        raise RuntimeError(
            f"{name}: Expected {ndim + 1}D or {ndim + 2}D (batch mode) tensor with optional 0 dim "
            f"batch size for input, but got: {list(shape)}"
        )


def check_pooled(name: str, found: Sequence[int], expected: Sequence[int], what: str) -> None:
    """Raise an error if a gradient or indices do not have the shape of the pooled result.

    Raises
    ------
    RuntimeError
        With both shapes.
    """
    if tuple(found) != tuple(expected):
        raise RuntimeError(
            f"{name}: expected {what} to have shape {list(expected)}, but got {list(found)}. Pass "
            "what belongs to the result of the pooling."
        )


def check_adaptive(
    name: str,
    ndim: int,
    shape: Sequence[int],
    output_size: Sequence[int],
    *,
    empty_channels: bool = True,
) -> None:
    """Raise an error for images, or sizes of the result, that adaptive pooling does not support.

    `empty_channels`: whether there may be no channels. Raises RuntimeError with the shape or the
    sizes.
    """
    if len(output_size) != ndim:
        raise RuntimeError(f"{name}: output_size must be {ndim}, but got {list(output_size)}")
    if min(output_size) < 0:
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 but received "
            f"{list(output_size)}"
        )
    if len(shape) not in (ndim + 1, ndim + 2):
        raise RuntimeError(
            f"{name}(): Expected {ndim + 1}D or {ndim + 2}D tensor, but got {list(shape)}"
        )
    check_size((*shape[:-ndim], *output_size), 8)
    counted = ndim if empty_channels else ndim + 1
    if 0 in shape[-counted:]:
        dim = len(shape) - counted + list(shape[-counted:]).index(0)
        raise RuntimeError(
            f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input "
            f"has sizes {list(shape)} with dimension {dim} being empty"
        )


def averaged_windows(
    name: str,
    ndim: int,
    shape: Sequence[int],
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> tuple[tuple[Runs, ...], Divisors]:
    """Return what an average pooling sums over, and what it divides the sums by. Raises
    RuntimeError for a shape or numbers that do not fit.
    """
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    windows = pooled_windows(name, ndim, shape, kernel_size, stride, padding, (1,), ceil_mode)
    runs, divisors = _averaged_windows(windows, bool(count_include_pad))
    return runs, divisors if divisor_override is None else divisor_override


@lru_cache(maxsize=1024)
def _averaged_windows(
    windows: tuple[Window, ...], count_include_pad: bool
) -> tuple[tuple[Runs, ...], Divisors]:
    runs = tuple([_runs_of(window) for window in windows])
    if count_include_pad:
        lengths = [_lengths_with_padding(window) for window in windows]
    else:
        lengths = [each.lengths for each in runs]
    if all([len(set(numbers)) == 1 for numbers in lengths]):
        return runs, math.prod([numbers[0] for numbers in lengths])
    return runs, tuple(lengths)


def _runs_of(window: Window) -> Runs:
    starts = [place * window.stride - window.padding for place in range(window.number)]
    return Runs(window.size, tuple(starts), tuple([start + window.kernel for start in starts]))


def _lengths_with_padding(window: Window) -> tuple[int, ...]:
    """Return how much of each window lies in the image or its padding."""
    end = window.size + window.padding
    starts = [place * window.stride - window.padding for place in range(window.number)]
    return tuple([min(start + window.kernel, end) - start for start in starts])


def check_fractional(
    name: str,
    ndim: int,
    x: Any,
    kernel_size: Sequence[int],
    output_size: Sequence[int],
    samples: Any,
) -> tuple[int, ...]:
    """Return the sizes of a window of fractional pooling, after checking all arguments. Raises
    RuntimeError for shapes, numbers or a dtype that do not fit.
    """
    for each, numbers in (("kernel_size", kernel_size), ("output_size", output_size)):
        if len(numbers) != ndim:
            raise RuntimeError(f"{name}: {each} must either be a single Int or tuple of Ints")
    check_images(name, ndim, x.shape)
    if min(output_size) < 0 or min(kernel_size) < 1:
        raise RuntimeError(
            f"{name}: kernel_size must be positive and output_size not negative, but got "
            f"{list(kernel_size)} and {list(output_size)}"
        )
    if samples.dtype != x.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    if samples.ndim != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {samples.ndim}")
    images = x.shape[0] if x.ndim == ndim + 2 else 1
    if samples.shape[0] < images:
        raise RuntimeError(
            "Expect _random_samples.size(0) no less then input batch size, but they are "
            f"{samples.shape[0]} and {images}."
        )
    if samples.shape[1] != x.shape[-ndim - 1]:
        raise RuntimeError(
            "Expect _random_samples.size(1) equals to input channel size, but they are "
            f"{samples.shape[1]} and {x.shape[-ndim - 1]}."
        )
    if samples.shape[2] != ndim:
        raise RuntimeError(
            f"Expect _random_samples.size(2) equals to {ndim}; got {samples.shape[2]}."
        )
    for size, kernel, number in zip(x.shape[-ndim:], kernel_size, output_size, strict=True):
        if number + kernel - 1 > size - (ndim == 3):  # in 3-d one element has to be left
            raise RuntimeError(
                f"{name}(): pool size {kernel} too large relative to input size {size}, for "
                f"{number} windows"
            )
    return tuple(kernel_size)


def check_unpooled(
    name: str,
    ndim: int,
    x: Any,
    indices: Any,
    output_size: Sequence[int],
    dtype: DType,
    stride: Sequence[int] | None = None,
    padding: Sequence[int] | None = None,
) -> None:
    """Raise an error for arguments of unpooling that are incompatible. Raises RuntimeError with
    what does not.
    """
    for each, numbers in (("output_size", output_size), ("stride", stride), ("padding", padding)):
        if numbers is not None and len(numbers) != ndim:
            raise RuntimeError(
                f"There should be exactly {_NUMBERS[ndim].replace('ints', 'elements')} in {each}, "
                f"but got: {len(numbers)} elements."
            )
    if dtype is not int64:
        raise RuntimeError(f"elements in indices should be type int64 but got: {dtype.scalar_name}")
    if stride is not None and min(stride) < 1:
        raise RuntimeError(f"strides should be greater than zero, but got stride: {list(stride)}")
    if x.ndim not in (ndim + 1, ndim + 2):
        raise RuntimeError(
            f"Input to {name.replace('pool', 'pooling')} should be a {ndim + 1}d or {ndim + 2}d "
            f"Tensor, but got a tensor with {x.ndim} dimensions."
        )
    if tuple(indices.shape) != tuple(x.shape):
        raise RuntimeError(
            "Expected shape of indices to be same as that of the input tensor "
            f"({list(x.shape)}) but got indices tensor with shape: {list(indices.shape)}"
        )
    check_images(name, ndim, x.shape)


def _by(*sizes: int) -> str:
    return "x".join(map(str, sizes))
