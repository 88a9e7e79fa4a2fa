"""Samples of resampling."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from dovetail_dispatcher.testing import SampleInput, TensorMaker
from dovetail_kernel import bfloat16, dtype, float16, uint8

from ..makers import FLOATING, Errors, Samples, joined, op_info, refusals

info = partial(op_info, family="interpolation")

SIZES = ((4, 7), (5, 3), (4, 4), (3, 8))
"""Sizes before and after, of each dimension."""


def images(ndim: int, *corners: bool) -> Samples:
    """Return samples of images, sizes, and whether corners are aligned where that is asked."""

    choices: list[tuple[bool, ...]] = [(corner,) for corner in corners] or [()]

    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for number in range(len(SIZES)):
            pairs = [SIZES[(number + dim) % len(SIZES)] for dim in range(ndim)]
            before, after = zip(*pairs, strict=True)
            for details in choices:
                yield SampleInput(make(2, 1, *before), list(after), *details)
        first = corners[:1]
        yield SampleInput(make(1, 2, *(4,) * ndim), [8] * ndim, *first, *[1.9] * ndim)
        yield SampleInput(make(0, 2, *(4,) * ndim), [3] * ndim, *first)

    return samples


def gradients(ndim: int, *corners: bool) -> Samples:
    """Return samples of the gradients of those of `images`."""

    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for sample in images(ndim, *corners)(make):
            shape, size = tuple(sample.input.shape), sample.args[0]
            details = (size, list(shape), *sample.args[1:])
            yield SampleInput(make(*shape[:2], *size), *details)

    return samples


def by_factors(ndim: int, *corners: bool) -> Samples:
    """Return samples that give sizes or factors."""

    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        details = corners[:1]
        yield SampleInput(make(2, 1, *(4,) * ndim), [6] * ndim, *details, None)
        yield SampleInput(make(2, 1, *(4,) * ndim), None, *details, [1.6] * ndim)

    return samples


def misfits(ndim: int, *corners: bool) -> Errors:
    """Return images of too few dimensions, and sizes of 0."""
    details = corners[:1]
    return refusals(
        (
            lambda make: SampleInput(make(2, *(3,) * ndim), [3] * ndim, *details),
            RuntimeError,
            f"It is expected input_size equals to {ndim + 2}, but got size {ndim + 1}",
        ),
        (
            lambda make: SampleInput(make(1, 1, *(3,) * ndim), [0] * ndim, *details),
            RuntimeError,
            "Input and output sizes should be greater than 0",
        ),
    )


def neither(ndim: int, *corners: bool) -> Errors:
    """Return calls without sizes and factors."""
    return refusals(
        (
            lambda make: SampleInput(make(1, 1, *(3,) * ndim), None, *corners[:1], None),
            RuntimeError,
            "Must specify exactly one of output_size and scale_factors",
        )
    )


# -- references ------------------------------------------------------------------------------------


def matrix(rows: Any, size: int, length: int) -> Any:
    """Return what `rows` says of every place of a result: a weighted sum of elements."""
    made = np.zeros((length, size))
    for place in range(length):
        for index, weight in rows(place):
            made[place, min(max(index, 0), size - 1)] += weight
    return made


def step_of(size: int, length: int, corner: bool, scale: float | None) -> float:
    if corner:
        return (size - 1) / (length - 1) if length > 1 else 0.0
    return size / length if scale is None else 1 / scale


def nearest(shift: float) -> Any:
    def rows(size: int, length: int, corner: bool, scale: float | None) -> Any:
        step = step_of(size, length, corner, scale)
        return matrix(lambda place: [(int((place + shift) * step), 1.0)], size, length)

    return rows


def linear(size: int, length: int, corner: bool, scale: float | None) -> Any:
    step = step_of(size, length, corner, scale)

    def taps(place: int) -> list[tuple[int, float]]:
        source = max(place * step if corner else (place + 0.5) * step - 0.5, 0.0)
        low = min(int(source), size - 1)
        after = min(source - low, 1.0)
        return [(low, 1 - after), (low + 1, after)]

    return matrix(taps, size, length)


def keys(distance: float, a: float) -> float:
    x = abs(distance)
    if x < 1:
        return ((a + 2) * x - (a + 3)) * x * x + 1
    return ((x - 5) * x + 8) * x * a - 4 * a if x < 2 else 0.0


def cubic(size: int, length: int, corner: bool, scale: float | None) -> Any:
    step = step_of(size, length, corner, scale)

    def taps(place: int) -> list[tuple[int, float]]:
        source = place * step if corner else (place + 0.5) * step - 0.5
        low = int(np.floor(source))
        return [(low + k, keys(source - low - k, -0.75)) for k in (-1, 0, 1, 2)]

    return matrix(taps, size, length)


def antialiased(reach: int, bell: Any) -> Any:
    def rows(size: int, length: int, corner: bool, scale: float | None) -> Any:
        step = step_of(size, length, corner, scale)
        width = max(step, 1.0)

        def taps(place: int) -> list[tuple[int, float]]:
            center = step * (place + 0.5)
            first = max(int(center - reach * width + 0.5), 0)
            stop = min(int(center + reach * width + 0.5), size)
            weights = [bell((index - center + 0.5) / width) for index in range(first, stop)]
            return [(first + k, weight / sum(weights)) for k, weight in enumerate(weights)]

        return matrix(taps, size, length)

    return rows


def tent(distance: float) -> float:
    return max(1 - abs(distance), 0.0)


def resampled(rows: Any, with_corners: bool) -> Any:
    """Return the reference of an operator: a product with a matrix along each dimension."""

    def reference(x: Any, output_size: Any, *details: Any) -> Any:
        corner = bool(details[0]) if with_corners else False
        scales = details[1:] if with_corners else details
        result = x.astype(np.float64) if x.dtype != np.float64 else x
        for place, length in enumerate(output_size):
            axis = place + 2
            scale = scales[place] if scales else None
            made = rows(x.shape[axis], length, corner, scale)
            result = np.moveaxis(np.tensordot(made, result, (1, axis)), 0, axis)
        if x.dtype == np.uint8:
            result = np.clip(np.floor(result + 0.5), 0, 255)
        return result.astype(x.dtype)

    return reference


SMOOTH = antialiased(2, partial(keys, a=-0.5))
BYTES = FLOATING | {uint8}


def dtypes_of(name: str) -> frozenset[dtype]:
    """Return the dtypes of images that an operator takes."""
    if "_aa" in name:
        return BYTES - {float16, bfloat16}
    return BYTES if "nearest" in name or "2d" in name else FLOATING


def grids(ndim: int, most: int = 3) -> Samples:
    """Return samples of images and points, some of them outside, for each way to sample."""

    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        image, points = (2, 1, *(3, 4, 2)[:ndim]), (2, *(2, 3, 1)[:ndim], ndim)
        for mode in range(most):
            for padding in range(3):
                for corners in (False, True):
                    grid = make(*points, low=-1.4, high=1.4)
                    yield SampleInput(make(*image), grid, mode, padding, corners)

    return samples


def affine(make: TensorMaker) -> Iterator[SampleInput]:
    for corners in (False, True):
        yield SampleInput(make(2, 2, 3), [2, 1, 3, 1], corners)
        yield SampleInput(make(2, 3, 4), [2, 1, 2, 3, 2], corners)


OTHER_MAPS = refusals(
    *[
        (
            lambda make, given=given: SampleInput(make(*given), [5, 1, 2, 2], False),
            RuntimeError,
            text,
        )
        for given, text in (
            ((1, 2, 3), r"needs maps of shape \(5, 2, 3\), but theta has \(1, 2, 3\)"),
            ((5, 3, 4), r"but theta has \(5, 3, 4\). Give a map for each picture"),
        )
    ]
)


def unfit_grid(ndim: int) -> Errors:
    """Return points of another number of coordinates."""
    return refusals(
        (
            lambda make: SampleInput(
                make(1, 1, *(3,) * ndim), make(1, *(2,) * ndim, ndim + 1), 0, 0, False
            ),
            RuntimeError,
            rf"expected grid to have size {ndim} in last dimension",
        )
    )


OPERATORS: tuple[tuple[str, int, Any, tuple[bool, ...]], ...] = (
    *[(f"upsample_nearest{n}d", n, nearest(0.0), ()) for n in (1, 2, 3)],
    *[(f"_upsample_nearest_exact{n}d", n, nearest(0.5), ()) for n in (1, 2, 3)],
    ("upsample_linear1d", 1, linear, (False, True)),
    ("upsample_bilinear2d", 2, linear, (False, True)),
    ("upsample_trilinear3d", 3, linear, (False, True)),
    ("upsample_bicubic2d", 2, cubic, (False, True)),
    ("_upsample_bilinear2d_aa", 2, antialiased(1, tent), (False, True)),
    ("_upsample_bicubic2d_aa", 2, SMOOTH, (False, True)),
)

OP_INFOS = [
    *[
        each
        for name, ndim, rows, corners in OPERATORS
        for each in (
            info(
                name,
                images(ndim, *corners),
                resampled(rows, bool(corners)),
                dtypes_of(name),
                errors=misfits(ndim, *corners),
            ),
            info(
                f"{name}.vec",
                by_factors(ndim, *corners),
                None,
                dtypes_of(name),
                errors=neither(ndim, *corners),
            ),
            info(
                f"{name}_backward",
                gradients(ndim, *corners),
                None,
                FLOATING - {float16, bfloat16} if "_aa" in name else FLOATING,
            ),
        )
    ],
    info("grid_sampler", joined(grids(2), grids(3, 2)), None, FLOATING, errors=unfit_grid(2)),
    info("grid_sampler_2d", grids(2), None, FLOATING, errors=unfit_grid(2)),
    info("grid_sampler_3d", grids(3, 2), None, FLOATING, errors=unfit_grid(3)),
    info("affine_grid_generator", affine, None, FLOATING, errors=OTHER_MAPS),
]
