"""Images sampled at few points, in few passes: what sizes decide is kept, weights are polynomials
with the coefficients of all taps in one table, and images stand in a margin of zeros so that no tap
has to be left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any, Final, NamedTuple

import numpy

from dovetail_aten.families import (
    BICUBIC,
    BILINEAR,
    BORDER,
    CUBIC,
    NEAREST,
    ZEROS,
    Geometry,
    GridSampling,
)
from dovetail_aten.families.interpolation.kernels.grid_sampling import Taps

FLOATS: Final = (numpy.dtype(numpy.float32), numpy.dtype(numpy.float64))
_FEW: Final = 1 << 14
"""Elements that are taken, and of images with their margins, up to which fewer passes pay."""

_OFFSETS: Final = {NEAREST: (0,), BILINEAR: (0, 1), BICUBIC: (-1, 0, 1, 2)}
_POLYNOMIALS: Final = {
    BILINEAR: ((-1.0, 1.0), (1.0, 0.0)),
    BICUBIC: (
        (CUBIC, CUBIC + 2, -CUBIC - 2, -CUBIC),
        (-2 * CUBIC, -CUBIC - 3, 2 * CUBIC + 3, CUBIC),
        (CUBIC, 0.0, -CUBIC, 0.0),
        (0.0, 1.0, 0.0, 0.0),
    ),
}
"""Coefficients of the weights of all taps in what a coordinate is after an element, those of the
highest power first.
"""


class _Layout(NamedTuple):
    """What the sizes of images and of points decide, repeated for all points: few elements are
    combined with as many in less time than with one of each dimension.

    Attributes
    ----------
    geometry
        That of the images.
    least, most
        Places of the first tap's element, beyond which all taps lie in the margin.
    steps
        How far elements along a dimension lie apart, in floating point.
    taps
        Where taps of the first element of each channel lie, as ``(taps, images, channels,
        points)``; the elements themselves where taps are put within the image one by one.
    padded
        The shape of images in their margin.
    within
        Where they stand there; None without a margin.
    offsets, weights, slopes
        Of one dimension: where taps are, and coefficients of polynomials.
    """

    geometry: Geometry
    least: Any
    most: Any
    steps: Any
    taps: Any
    padded: tuple[int, ...]
    within: tuple[Any, ...]
    offsets: Any
    weights: tuple[Any, ...]
    slopes: tuple[Any, ...]


class SmallGridSampling(GridSampling):
    """Values of images and of volumes at few points."""

    def sampled(self, x: Any, grid: Any, mode: int, padding: int, align_corners: bool) -> Any:
        """Return the values of images at points, all of which fit together."""
        layout = self._layout_of_few(x, grid, mode, padding, align_corners)
        if layout is None:
            return GridSampling.sampled(self, x, grid, mode, padding, align_corners)
        taps, index = self._few_taps(grid, layout, mode, padding, align_corners, False)
        found = _in_margin(x, layout).take(index)
        if taps.weights is not None:
            weights = self._over_all(numpy.multiply, taps.weights)[:, :, None]
            numpy.multiply(found, weights, found)
            found = numpy.add.reduce(found, 0)
        return found.reshape(*x.shape[:2], *grid.shape[1:-1])

    def sampled_backward(
        self,
        grad: Any,
        x: Any,
        grid: Any,
        mode: int,
        padding: int,
        align_corners: bool,
        mask: Sequence[bool],
    ) -> tuple[Any, Any]:
        """Return the gradients of images and of points, each if `mask` asks for it."""
        layout = self._layout_of_few(x, grid, mode, padding, align_corners)
        if layout is None:
            return GridSampling.sampled_backward(
                self, grad, x, grid, mode, padding, align_corners, mask
            )
        taps, index = self._few_taps(grid, layout, mode, padding, align_corners, mask[1])
        grad = grad.reshape(*x.shape[:2], prod(grid.shape[1:-1]))
        to_x = to_grid = None
        if mask[0]:
            parts = grad
            if taps.weights is not None:
                weights = self._over_all(numpy.multiply, taps.weights)
                parts = numpy.multiply(grad, weights[:, :, None])
            padded = numpy.zeros(layout.padded, x.dtype)
            numpy.add.at(padded.reshape(-1), index.reshape(-1), parts.reshape(-1))
            to_x = padded[layout.within].copy()
        if mask[1] and taps.slopes is None:
            to_grid = numpy.zeros(grid.shape, grid.dtype)
        elif mask[1]:
            found = _in_margin(x, layout).take(index)
            counts = numpy.add.reduce(numpy.multiply(grad, found, found), 2)
            moved = self._slopes(counts, taps)[::-1].transpose(1, 2, 0)
            to_grid = moved.copy("C").reshape(grid.shape)
        return to_x, to_grid

    def _layout_of_few(
        self, x: Any, grid: Any, mode: int, padding: int, align_corners: bool
    ) -> _Layout | None:
        """Return the layout of few elements, None for many, none, and other dtypes."""
        if x.dtype not in FLOATS or not x.size or not 0 < grid.size <= _FEW or x.size > _FEW:
            return None
        ndim, taps = x.ndim - 2, len(_OFFSETS[mode])
        if prod(grid.shape[:-1]) * x.shape[1] * taps**ndim > _FEW:
            return None
        points = (ndim, len(grid), prod(grid.shape[1:-1]))
        layout = _kept_layout(self, x.shape, points, x.dtype, mode, padding, align_corners)
        return layout if prod(layout.padded) <= _FEW else None

    def _few_taps(
        self,
        grid: Any,
        layout: _Layout,
        mode: int,
        padding: int,
        align_corners: bool,
        sloped: bool,
    ) -> tuple[Taps, Any]:
        """Return what every point takes, with slopes if `sloped` asks for them, and where in all
        images in their margins that is: ``(taps, samples, channels, points)``.
        """
        geometry, one = layout.geometry, self.numbers.like(grid, 1)
        # Coordinates come in the order x, y, z; the dimensions of an image are z, y, x.
        place = grid.reshape(grid.shape[0], -1, grid.shape[-1]).transpose(2, 0, 1)[::-1].copy()
        numpy.add(place, one, place)
        if align_corners:
            numpy.multiply(place, geometry.half, place)
        else:
            numpy.multiply(place, geometry.length, place)
            numpy.subtract(place, one, place)
            numpy.multiply(place, self.numbers.like(grid, 0.5), place)
        move, inside = geometry.half, None
        if padding != ZEROS and mode != BICUBIC:
            place, side, inside = self._few_bounded(place, geometry, padding, align_corners, sloped)
            move = numpy.multiply(move, side) if sloped and side is not None else move
        if mode == NEAREST:
            return Taps(None, None), self._few_places(numpy.rint(place), layout)
        low = numpy.floor(place)
        after = numpy.subtract(place, low, place)
        weights = _polynomial(layout.weights, after)
        slopes = None
        if sloped:
            slopes = numpy.empty_like(weights)
            slopes[...] = _polynomial(layout.slopes, after)
        taps = Taps(None, weights, slopes, move, inside)
        if padding == ZEROS or mode != BICUBIC:
            return taps, self._few_places(low, layout)
        places = numpy.add(low, layout.offsets)
        places, _, _ = self._few_bounded(places, geometry, padding, align_corners, False)
        index = self._over_all(numpy.add, numpy.multiply(places, layout.steps)).astype(numpy.int64)
        return taps, numpy.add(index[:, :, None], layout.taps)

    def _few_places(self, low: Any, layout: _Layout) -> Any:
        """Return where what all taps take lies, given the place from which they are counted."""
        numpy.fmax(low, layout.least, low)
        numpy.minimum(low, layout.most, out=low)
        index = numpy.add.reduce(numpy.multiply(low, layout.steps, low), 0).astype(numpy.int64)
        return numpy.add(index[:, None], layout.taps)

    def _few_bounded(
        self, place: Any, geometry: Geometry, padding: int, align_corners: bool, sloped: bool
    ) -> tuple[Any, Any, Any]:
        """Return what `_bounded` does: without `sloped` places alone."""
        if sloped or padding != BORDER:
            return self._bounded(place, geometry, padding, align_corners)
        place = numpy.fmax(place, self.numbers.like(place, 0))  # NaN too becomes 0
        return numpy.minimum(place, geometry.last), None, None


def _polynomial(coefficients: tuple[Any, ...], at: Any) -> Any:
    """Return the polynomial of each tap, with those of the highest power first."""
    made = coefficients[0]
    for each in coefficients[1:]:
        made = numpy.multiply(made, at)
        numpy.add(made, each, made)
    return made


def _in_margin(x: Any, layout: _Layout) -> Any:
    """Return the elements of images that stand in a margin of zeros."""
    if layout.padded == x.shape:
        return x.reshape(-1)
    padded = numpy.zeros(layout.padded, x.dtype)
    padded[layout.within] = x
    return padded.reshape(-1)


@lru_cache(32)
def _kept_layout(
    family: SmallGridSampling,
    shape: tuple[int, ...],
    points: tuple[int, ...],
    native: Any,
    mode: int,
    padding: int,
    align_corners: bool,
) -> _Layout:
    """Return what the sizes of images decide, and those of points: as ``(dimensions, samples,
    points)``.
    """
    (images, channels, *sizes), offsets = shape, _OFFSETS[mode]
    ndim, least, margin = len(sizes), 0, 0
    most = [size - 1 for size in sizes]
    if padding == ZEROS or mode == BILINEAR:
        # Others are put within the image one by one.
        least, margin = -1 - offsets[-1], 1 + offsets[-1] - offsets[0]
        most = [size - offsets[0] for size in sizes]
    room = [size + 2 * margin for size in sizes]
    steps = [prod(room[dim + 1 :]) for dim in range(ndim)]
    begins = numpy.arange(images * channels).reshape(images, channels, 1) * prod(room)
    taps = [
        sum([(margin + each) * step for each, step in zip(places, steps, strict=True)])
        for places in product(offsets if margin else (0,), repeat=ndim)
    ]

    def repeated(numbers: Any, lead: tuple[int, ...] = ()) -> Any:
        column = numpy.asarray(numbers, native).reshape(-1, 1, 1)
        return numpy.broadcast_to(column.reshape(*lead, -1, 1, 1), (*lead, *points)).copy()

    powers = [repeated(each, (len(offsets),)) for each in _POLYNOMIALS.get(mode, ())]
    slopes = [each * native.type(len(powers) - 1 - n) for n, each in enumerate(powers[:-1])]
    geometry = GridSampling._geometry(family, tuple(sizes), native, align_corners)
    places = numpy.array(taps).reshape(-1, 1, 1, 1) + begins
    every = slice(margin, -margin) if margin else slice(None)
    return _Layout(
        Geometry(*[repeated(each) for each in geometry]),
        repeated([least]),
        repeated(most),
        repeated(steps),
        numpy.repeat(places, points[2], -1),
        (images, channels, *room),
        (..., *[every] * ndim),
        numpy.array(offsets, native).reshape(-1, 1, 1, 1),
        tuple(powers),
        tuple(slopes),
    )
