"""Images sampled at the points of a grid, by blocks of points for which one index serves all
channels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib import import_module
from math import prod
from typing import Any, Final

import numpy

from dovetail_aten.families import BICUBIC, NEAREST, Geometry, GridSampling
from dovetail_aten.families.interpolation.kernels.grid_sampling import Taps

from .small_grid_sampling import FLOATS, SmallGridSampling

_MANY: Final = 1 << 15
"""Elements that are taken, from which blocks pay, and a sparse product of SciPy's."""
_BLOCK: Final = 1 << 15
"""Elements that are taken at a time."""


class FastGridSampling(SmallGridSampling):
    """Values of images and of volumes at points."""

    def sampled(self, x: Any, grid: Any, mode: int, padding: int, align_corners: bool) -> Any:
        """Return the values of images at points, all of which fit together."""
        if not _is_large(x, grid, mode):
            return SmallGridSampling.sampled(self, x, grid, mode, padding, align_corners)
        rows, points = _lines_of(x, grid)
        made = numpy.empty((*x.shape[:2], points.shape[1]), x.dtype)
        step = max(1 << 10, _BLOCK // x.shape[1])
        room = numpy.empty((x.shape[1], min(step, points.shape[1])), x.dtype)
        for image, block in _blocks(points, step):
            taps, geometry = self._taps(
                points[image, block], x.shape[2:], mode, padding, align_corners, False
            )
            index, inside = self._in_block(taps.places, geometry)
            target = made[image, :, block][0]
            weights = self._over_all(numpy.multiply, taps.weights)[:, 0]
            for number, weight in enumerate(weights):
                each = room[:, : len(weight)] if number else target
                _found(rows[image][0], index[number], inside[number], each)
                numpy.multiply(each, weight, each)
                if number:
                    numpy.add(target, each, target)
        return made.reshape(*x.shape[:2], *grid.shape[1:-1])

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
        if not _is_large(x, grid, mode):
            return SmallGridSampling.sampled_backward(
                self, grad, x, grid, mode, padding, align_corners, mask
            )
        rows, points = _lines_of(x, grid)
        grads = grad.reshape(*rows.shape[:2], -1)
        to_rows = numpy.zeros(rows.shape, x.dtype) if mask[0] else None
        to_points = numpy.zeros(points.shape, x.dtype) if mask[1] else None
        # A product makes a gradient of the whole image, so that a block is as large as that.
        step = max(1 << 13, rows.shape[2])
        for image, block in _blocks(points, step):
            taps, geometry = self._taps(
                points[image, block], x.shape[2:], mode, padding, align_corners, mask[1]
            )
            index, inside = self._in_block(taps.places, geometry)
            part = grads[image, :, block][0]
            if to_rows is not None:
                weights = self._over_all(numpy.multiply, taps.weights)[:, 0]
                _add(to_rows[image][0], part, index, inside, weights)
            if to_points is not None:
                counts = numpy.empty((len(index), part.shape[1]), x.dtype)
                for number, target in enumerate(counts):
                    found = _found(rows[image][0], index[number], inside[number], None)
                    numpy.multiply(found, part, found)
                    numpy.add.reduce(found, 0, None, target)
                self._move(to_points[image, block][0], counts, taps)
        to_x = None if to_rows is None else to_rows.reshape(x.shape)
        return to_x, None if to_points is None else to_points.reshape(grid.shape)

    def _in_block(self, places: Any, geometry: Geometry) -> tuple[Any, Any]:
        """Return what `_in_one` does of one image, ``(taps, points)``; an index of what lies
        outside is any number.
        """
        zero = self.numbers.like(places, 0)
        inside = numpy.greater_equal(places, zero)
        numpy.logical_and(inside, numpy.less_equal(places, geometry.last), inside)
        index = places.astype(numpy.int64)
        numpy.multiply(index[:, :-1], geometry.steps[:-1], index[:, :-1])
        return (
            self._over_all(numpy.add, index)[:, 0],
            self._over_all(numpy.logical_and, inside)[:, 0],
        )

    def _move(self, target: Any, counts: Any, taps: Taps) -> None:
        """Write the gradients of points, given what each tap counts for its weight."""
        lines = self._slopes(counts[:, None], taps)
        for dim in range(len(lines)):
            target[:, dim] = lines[len(lines) - 1 - dim][0]

    def _geometry(self, sizes: tuple[int, ...], native: Any, align_corners: bool) -> Geometry:
        return _kept_geometry(self, sizes, native, align_corners)

    def _begins(self, images: int, channels: int, size: int) -> Any:
        return _kept_begins(images, channels, size)


@lru_cache(128)
def _kept_geometry(
    family: FastGridSampling, sizes: tuple[int, ...], native: Any, align_corners: bool
) -> Geometry:
    return GridSampling._geometry(family, sizes, native, align_corners)


@lru_cache(64)
def _kept_begins(images: int, channels: int, size: int) -> Any:
    return (numpy.arange(images * channels) * size).reshape(images, channels, 1)


def _is_large(x: Any, grid: Any, mode: int) -> bool:
    """Return whether blocks of points pay: not for one tap, which is taken in one call."""
    taps = (4 if mode == BICUBIC else 2) ** (x.ndim - 2)
    return bool(
        mode != NEAREST
        and x.dtype in FLOATS
        and grid.size // grid.shape[-1] * x.shape[1] * taps >= _MANY
        and grid.size // len(grid) * taps >= 1 << 10
    )


def _lines_of(x: Any, grid: Any) -> tuple[Any, Any]:
    """Return images as rows of elements, and points as a row of them."""
    points = grid.reshape(grid.shape[0], prod(grid.shape[1:-1]), grid.shape[-1])
    return x.reshape(*x.shape[:2], -1), points


def _blocks(points: Any, step: int) -> Iterator[tuple[slice, slice]]:
    """Yield an image and a block of its points, one after the other."""
    for image in range(len(points)):
        for start in range(0, points.shape[1], step):
            yield slice(image, image + 1), slice(start, start + step)


def _found(rows: Any, index: Any, inside: Any, room: Any) -> Any:
    """Return the elements of rows at an index, zeros outside."""
    found = numpy.take(rows, index, 1, room, "clip")
    if not inside.all():
        numpy.copyto(found, 0, where=~inside)
    return found


def _add(rows: Any, grads: Any, index: Any, inside: Any, weights: Any) -> None:
    """Add to rows what comes back from each tap of all points."""
    size = rows.shape[1]
    # What lies outside is added to an element more, which is left out.
    places = numpy.where(inside, index, size).T.reshape(-1)
    starts = numpy.arange(0, places.size + 1, len(index))
    matrix = import_module("scipy.sparse").csc_array(
        (weights.T.reshape(-1), places, starts), shape=(size + 1, grads.shape[1])
    )
    numpy.add(rows, (matrix @ numpy.ascontiguousarray(grads.T))[:size].T, rows)
