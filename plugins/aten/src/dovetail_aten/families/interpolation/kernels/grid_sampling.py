"""Images sampled at the points of a grid: a weighted sum of the elements around each point, the
taps. Coordinates of all dimensions are one array, and so are all taps.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final, NamedTuple

from dovetail_kernel import dtype, int64

from ....kernel_support.family import Family, helper, operator, widened
from ....typing import Array

BILINEAR, NEAREST, BICUBIC = range(3)
ZEROS, BORDER, REFLECTION = range(3)
CUBIC: Final = -0.75
"""Slope parameter of the cubic convolution (R. Keys, 1981), as PyTorch has it."""


class Taps(NamedTuple):
    """What every point takes along each dimension, arrays of the shape ``(taps, dimensions,
    samples, points)``.

    Attributes
    ----------
    places
        Which elements, as integers in floating point.
    weights
        By what they are multiplied; None takes the only one as it is.
    slopes
        How much the weights change with the coordinate; None unless they are asked for, and of
        what is taken as it is.
    move
        How far places move with coordinates.
    within
        Where they do; None for everywhere.
    """

    places: Any
    weights: Any
    slopes: Any = None
    move: Any = None
    within: Any = None


class Geometry(NamedTuple):
    """What the sizes of images decide, arrays of the shape ``(dimensions, 1, 1)``.

    Attributes
    ----------
    length, last
        How many elements there are, and the place of the last one, in floating point.
    half
        Half of that by which coordinates are multiplied.
    steps
        How far elements along a dimension lie apart in memory.
    """

    length: Any
    last: Any
    half: Any
    steps: Any


class GridSampling(Family):
    """Values of images and of volumes at points: `x` is ``(N, C, *sizes)``, `grid` is
    ``(N, *points, dimensions)``.
    """

    @operator("grid_sampler_2d")
    def sampled_images(
        self, x: Array, grid: Array, interpolation_mode: int, padding_mode: int, align_corners: bool
    ) -> Any:
        """Return the values of images at points."""
        self._check(x, grid, interpolation_mode, padding_mode, 4)
        return self.sampled(x, grid, interpolation_mode, padding_mode, align_corners)

    @operator("grid_sampler_3d")
    def sampled_volumes(
        self, x: Array, grid: Array, interpolation_mode: int, padding_mode: int, align_corners: bool
    ) -> Any:
        """Return the values of volumes at points."""
        self._check(x, grid, interpolation_mode, padding_mode, 5)
        return self.sampled(x, grid, interpolation_mode, padding_mode, align_corners)

    @widened
    def sampled(self, x: Array, grid: Array, mode: int, padding: int, align_corners: bool) -> Any:
        """Return the values of images at points, all of which fit together."""
        xp, sizes = self.xp, x.shape[2:]
        taps, geometry = self._taps(grid, sizes, mode, padding, align_corners, False)
        index, inside = self._in_all(taps.places, x.shape, geometry)
        result = self._found(x, index, inside)
        if taps.weights is not None:
            result = xp.multiply(result, self._over_all(xp.multiply, taps.weights)[:, :, None, ...])
            result = xp.sum(result, axis=0)
        return xp.reshape(result, (*x.shape[:2], *grid.shape[1:-1]))

    @helper("grid_sampler_backward")
    @widened
    def sampled_backward(
        self,
        grad: Array,
        x: Array,
        grid: Array,
        mode: int,
        padding: int,
        align_corners: bool,
        mask: Sequence[bool],
    ) -> tuple[Any, Any]:
        """Return the gradients of images and of points, each if `mask` asks for it."""
        xp, sizes = self.xp, x.shape[2:]
        taps, geometry = self._taps(grid, sizes, mode, padding, align_corners, mask[1])
        index, inside = self._in_all(taps.places, x.shape, geometry)
        grad = xp.reshape(grad, (*x.shape[:2], prod(grid.shape[1:-1])))
        to_x = to_grid = None
        if mask[0]:
            parts = grad
            if taps.weights is not None:
                weights = self._over_all(xp.multiply, taps.weights)
                parts = xp.multiply(grad, weights[:, :, None, ...])
            parts = xp.where(inside, parts, self.numbers.like(x, 0))
            nothing = xp.zeros((prod(x.shape),), dtype=x.dtype)
            index_add = self.capabilities.index_add
            to_x = index_add(nothing, 0, xp.reshape(index, (-1,)), xp.reshape(parts, (-1,)))
            to_x = xp.reshape(to_x, x.shape)
        if mask[1] and taps.slopes is None:
            to_grid = xp.zeros(grid.shape, dtype=grid.dtype)
        elif mask[1]:
            counts = xp.sum(xp.multiply(grad, self._found(x, index, inside)), axis=2)
            moved = self._slopes(counts, taps)
            lines = [moved[dim, ...] for dim in reversed(range(len(sizes)))]
            to_grid = xp.reshape(xp.stack(lines, axis=-1), grid.shape)
        return to_x, to_grid

    def _slopes(self, counts: Array, taps: Taps) -> Any:
        """Return the gradients of coordinates, ``(dimensions, samples, points)``, given how much
        each tap counts for its weight.
        """
        xp, ndim = self.xp, taps.weights.shape[1]
        lines = []
        for dim in range(ndim):
            # The product of the weights, with the slopes of one dimension in their place.
            each = [
                (taps.slopes if other == dim else taps.weights)[:, other, ...]
                for other in range(ndim)
            ]
            lines.append(xp.sum(xp.multiply(counts, self._outer(xp.multiply, each)), axis=0))
        moved = xp.multiply(xp.stack(lines), taps.move)
        if taps.within is None:
            return moved
        return xp.where(taps.within, moved, self.numbers.like(moved, 0))

    # -- taps --------------------------------------------------------------------------------------

    def _taps(
        self,
        grid: Array,
        sizes: Sequence[int],
        mode: int,
        padding: int,
        align_corners: bool,
        sloped: bool,
    ) -> tuple[Taps, Geometry]:
        """Return what every point takes, with slopes if `sloped` asks for them."""
        xp, like = self.xp, self.numbers.like
        ndim = len(sizes)
        # Coordinates come in the order x, y, z; the dimensions of an image are z, y, x.
        grid = xp.reshape(grid, (grid.shape[0], prod(grid.shape[1:-1]), ndim))
        lines = xp.stack([grid[..., dim] for dim in reversed(range(ndim))])
        one = like(grid, 1)
        geometry = self._geometry(tuple(sizes), grid.dtype, align_corners)
        place = xp.add(lines, one)
        if align_corners:
            place = xp.multiply(place, geometry.half)
        else:
            place = xp.subtract(xp.multiply(place, geometry.length), one)
            place = xp.multiply(place, like(grid, 0.5))
        if mode == BICUBIC:
            taps = self._cubic(place, sloped)._replace(move=geometry.half)
            if padding != ZEROS:
                places = taps.places
                places, _, _ = self._bounded(places, geometry, padding, align_corners)
                taps = taps._replace(places=places)
            return taps, geometry
        move, within = geometry.half, None
        if padding != ZEROS:
            place, side, within = self._bounded(place, geometry, padding, align_corners)
            move = xp.multiply(move, side) if sloped and side is not None else move
        if mode == NEAREST:
            return Taps(xp.rint(place)[None, ...], None), geometry
        low = xp.floor(place)
        after = xp.subtract(place, low)
        weights = xp.stack([xp.subtract(one, after), after])
        places = xp.stack([low, xp.add(low, one)])
        if not sloped:
            return Taps(places, weights), geometry
        ones = xp.ones_like(after)
        slopes = xp.stack([xp.negative(ones), ones])
        return Taps(places, weights, slopes, move, within), geometry

    def _geometry(self, sizes: tuple[int, ...], native: Any, align_corners: bool) -> Geometry:
        """Return what the sizes decide."""
        xp, wide = self.xp, self.native_dtypes[int64]
        shape = (len(sizes), 1, 1)
        steps = [prod(sizes[dim + 1 :]) for dim in range(len(sizes))]
        length = xp.reshape(xp.asarray(list(sizes), dtype=native), shape)
        last = xp.reshape(xp.asarray([size - 1 for size in sizes], dtype=native), shape)
        half = xp.multiply(last if align_corners else length, self.numbers.of_dtype(0.5, native))
        return Geometry(length, last, half, xp.reshape(xp.asarray(steps, dtype=wide), shape))

    def _cubic(self, place: Array, sloped: bool) -> Taps:
        """Return four taps of every place."""
        xp, like = self.xp, self.numbers.like
        low = xp.floor(place)
        after = xp.subtract(place, low)
        one, two = like(place, 1), like(place, 2)
        before = xp.subtract(one, after)
        near, far = xp.stack([after, before]), xp.stack([xp.add(after, one), xp.add(before, one)])

        def number(value: float) -> Any:
            return like(place, value)

        a = CUBIC
        inner = xp.subtract(xp.multiply(near, number(a + 2)), number(a + 3))
        nears = xp.add(xp.multiply(xp.multiply(inner, near), near), one)
        outer = xp.subtract(xp.multiply(far, number(a)), number(5 * a))
        outer = xp.add(xp.multiply(outer, far), number(8 * a))
        fars = xp.subtract(xp.multiply(outer, far), number(4 * a))
        weights = xp.stack([fars[0, ...], nears[0, ...], nears[1, ...], fars[1, ...]])
        places = xp.stack([xp.subtract(low, one), low, xp.add(low, one), xp.add(low, two)])
        if not sloped:
            return Taps(places, weights)
        of_near = xp.multiply(near, number(3 * (a + 2)))
        of_near = xp.multiply(xp.subtract(of_near, number(2 * (a + 3))), near)
        of_far = xp.subtract(xp.multiply(far, number(3 * a)), number(10 * a))
        of_far = xp.add(xp.multiply(of_far, far), number(8 * a))
        minus = xp.negative
        before, after = [minus(each[1, ...]) for each in (of_far, of_near)]
        slopes = xp.stack([of_far[0, ...], of_near[0, ...], after, before])
        return Taps(places, weights, slopes)

    def _bounded(
        self, place: Any, geometry: Geometry, padding: int, align_corners: bool
    ) -> tuple[Any, Any, Any]:
        """Return places put within the image, NaN at its begin; on which side of a mirror they
        were, None without one; and which move with those given, those between the outermost.
        """
        xp, like, last = self.xp, self.numbers.like, geometry.last
        zero, one = like(place, 0), like(place, 1)
        side = None
        if padding == REFLECTION:
            low = zero if align_corners else like(place, -0.5)
            # Of one element with its middle at both ends there is nothing to reflect.
            span = xp.maximum(last, one) if align_corners else geometry.length
            moved = xp.subtract(place, low)
            distance = xp.absolute(moved)
            extra = xp.fmod(distance, span)
            flips = xp.floor(xp.true_divide(distance, span))
            even = xp.equal(xp.fmod(flips, like(place, 2)), zero)
            place = xp.where(even, xp.add(extra, low), xp.subtract(xp.add(span, low), extra))
            side = xp.sign(moved)
            side = xp.where(even, side, xp.negative(side))
        # The outermost elements are at the edge: points there do not move, in PyTorch either.
        within = xp.logical_and(xp.greater(place, zero), xp.less(place, last))
        place = xp.where(xp.equal(place, place), place, zero)
        return xp.minimum(xp.maximum(place, zero), last), side, within

    def _found(self, x: Array, index: Array, inside: Array) -> Any:
        """Return the elements of all images together at an index, zeros outside."""
        xp = self.xp
        found = xp.take(xp.reshape(x, (-1,)), xp.reshape(index, (-1,)), axis=0)
        return xp.where(inside, xp.reshape(found, index.shape), self.numbers.like(x, 0))

    def _in_all(self, places: Array, shape: Sequence[int], geometry: Geometry) -> tuple[Any, Any]:
        """Return where in all images together the elements at places lie, as ``(taps, samples,
        channels, points)``, and which of them lie within their image.
        """
        images, channels, *sizes = shape
        index, inside = self._in_one(places, geometry)
        begins = self._begins(images, channels, prod(sizes))
        return self.xp.add(index[:, :, None, ...], begins), inside[:, :, None, ...]

    def _in_one(self, places: Array, geometry: Geometry) -> tuple[Any, Any]:
        """Return where in a channel of an image the elements at places lie, as ``(taps, samples,
        points)``, and which of them lie within.
        """
        xp, zero, wide = self.xp, self.numbers.like(places, 0), self.native_dtypes[int64]
        within = xp.greater_equal(places, zero)
        within = xp.logical_and(within, xp.less_equal(places, geometry.last))
        index = xp.multiply(xp.where(within, places, zero).astype(wide), geometry.steps)
        return self._over_all(xp.add, index), self._over_all(xp.logical_and, within)

    def _begins(self, images: int, channels: int, size: int) -> Any:
        """Return where each channel of each image begins, as ``(images, channels, 1)``."""
        begins = self.xp.arange(images * channels, dtype=self.native_dtypes[int64])
        begins = begins * self.numbers.like(begins, size)
        return self.xp.reshape(begins, (images, channels, 1))

    def _over_all(self, combine: object, along: Array) -> Any:
        """Return what `combine` makes of every choice of a tap for each dimension."""
        return self._outer(combine, [along[:, dim, ...] for dim in range(along.shape[1])])

    def _outer(self, combine: Any, lines: Sequence[Any]) -> Any:
        """Return the same of an array of taps for each dimension."""
        made = lines[0]
        for each in lines[1:]:
            pairs = combine(made[:, None, ...], each[None, ...])
            made = self.xp.reshape(pairs, (made.shape[0] * each.shape[0], *each.shape[1:]))
        return made

    def _check(self, x: Array, grid: Array, mode: int, padding: int, ndim: int) -> None:
        dtypes = self.dtypes[x.dtype], self.dtypes[grid.dtype]
        check_grid_sampler(x.shape, grid.shape, *dtypes, mode, padding, ndim)


def check_grid_sampler(
    shape: Sequence[int],
    points: Sequence[int],
    own: dtype,
    other: dtype,
    mode: int,
    padding: int,
    ndim: int | None = None,
) -> None:
    """Raise an error for images and grids that are incompatible. Raises RuntimeError with PyTorch's
    message, and NotImplementedError for images that are not of floating point.
    """

    def sizes() -> str:
        return f"got input with sizes {list(shape)} and grid with sizes {list(points)}"

    if own is not other:
        raise RuntimeError(
            "grid_sampler(): expected input and grid to have same dtype, but input has "
            f"{own} and grid has {other}. Convert one."
        )
    if not own.is_floating_point:
        raise NotImplementedError(
            f"\"grid_sampler\" not implemented for '{own.scalar_name}'. Convert to a "
            "floating-point dtype first."
        )
    wanted = (4, 5) if ndim is None else (ndim,)
    if len(shape) not in wanted or len(points) != len(shape):
        words = "4D or 5D" if ndim is None else f"{ndim}D"
        raise RuntimeError(
            f"grid_sampler(): expected {words} input and grid with same number of dimensions, but "
            f"{sizes()}."
        )
    if shape[0] != points[0]:
        raise RuntimeError(
            f"grid_sampler(): expected grid and input to have same batch size, but {sizes()}."
        )
    if points[-1] != len(shape) - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {len(shape) - 2} in last dimension, but "
            f"got grid with sizes {list(points)}. Give one coordinate per dimension."
        )
    for dim in range(2, len(shape)):
        if not shape[dim]:
            raise RuntimeError(
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input "
                f"has sizes {list(shape)} with dimension {dim} being empty."
            )
    if mode not in (BILINEAR, NEAREST, BICUBIC) or padding not in (ZEROS, BORDER, REFLECTION):
        raise RuntimeError(
            f"grid_sampler(): there is no interpolation mode {mode} with padding mode {padding}. "
            "Both are 0, 1 or 2."
        )
    if mode == BICUBIC and len(shape) == 5:
        raise RuntimeError(
            "grid_sampler(): bicubic interpolation only supports 4D input. Choose another mode."
        )
