"""Images sampled at the points of a grid: the place of each point in the image, and a weighted sum
of the elements around it.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, Final

from dovetail_aten._generated import functions as F
from dovetail_kernel import bfloat16, float16, float32, int64

BILINEAR, NEAREST, BICUBIC = range(3)
ZEROS, BORDER, REFLECTION = range(3)
_CUBIC: Final = -0.75
"""Slope parameter of the cubic convolution (R. Keys, 1981), as PyTorch has it."""

Bound = Callable[[Any, int], Any]


def grid_sampler(
    input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Any:
    """Return the values of images, or of volumes, at points."""
    _check(input, grid, interpolation_mode, padding_mode)
    sampler = F.grid_sampler_2d if input.ndim == 4 else F.grid_sampler_3d
    return sampler(input, grid, interpolation_mode, padding_mode, align_corners)


def grid_sampler_2d(
    input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Any:
    """Return the values of images at points."""
    _check(input, grid, interpolation_mode, padding_mode, 4)
    return _sampled(input, grid, interpolation_mode, padding_mode, align_corners)


def grid_sampler_3d(
    input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Any:
    """Return the values of volumes at points."""
    _check(input, grid, interpolation_mode, padding_mode, 5)
    return _sampled(input, grid, interpolation_mode, padding_mode, align_corners)


def _check(input: Any, grid: Any, mode: int, padding: int, ndim: int | None = None) -> None:
    """Refuse images and grids that do not fit together.

    Raises
    ------
    RuntimeError
        In PyTorch's words.
    """
    sizes = f"got input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
    if input.dtype is not grid.dtype:
        raise RuntimeError(
            "grid_sampler(): expected input and grid to have same dtype, but input has "
            f"{input.dtype} and grid has {grid.dtype}. Convert one."
        )
    _check_float("grid_sampler", input)
    wanted = (4, 5) if ndim is None else (ndim,)
    if input.ndim not in wanted or grid.ndim != input.ndim:
        words = "4D or 5D" if ndim is None else f"{ndim}D"
        raise RuntimeError(
            f"grid_sampler(): expected {words} input and grid with same number of dimensions, but "
            f"{sizes}."
        )
    if input.shape[0] != grid.shape[0]:
        raise RuntimeError(
            f"grid_sampler(): expected grid and input to have same batch size, but {sizes}."
        )
    if grid.shape[-1] != input.ndim - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {input.ndim - 2} in last dimension, but "
            f"got grid with sizes {list(grid.shape)}. Give one coordinate per dimension."
        )
    for dim in range(2, input.ndim):
        if not input.shape[dim]:
            raise RuntimeError(
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input "
                f"has sizes {list(input.shape)} with dimension {dim} being empty."
            )
    if mode not in (BILINEAR, NEAREST, BICUBIC) or padding not in (ZEROS, BORDER, REFLECTION):
        raise RuntimeError(
            f"grid_sampler(): there is no interpolation mode {mode} with padding mode {padding}. "
            "Both are 0, 1 or 2."
        )
    if mode == BICUBIC and input.ndim == 5:
        raise RuntimeError(
            "grid_sampler(): bicubic interpolation only supports 4D input. Choose another mode."
        )


def _check_float(name: str, tensor: Any) -> None:
    """Refuse tensors that are not of floating point."""
    if not tensor.dtype.is_floating_point:
        raise NotImplementedError(
            f"\"{name}\" not implemented for '{tensor.dtype.scalar_name}'. Convert to a "
            "floating-point dtype first."
        )


def _sampled(input: Any, grid: Any, mode: int, padding: int, align_corners: bool) -> Any:
    if input.dtype in (float16, bfloat16):
        wide = F.to(input, float32), F.to(grid, float32)
        return F.to(_sampled(*wide, mode, padding, align_corners), input.dtype)
    spatial = tuple(input.shape[2:])
    rows = F.reshape(input, (*input.shape[:2], -1))
    bound = _bound(padding, align_corners)
    # Coordinates come in the order x, y, z; the dimensions of an image are z, y, x.
    coordinates = [
        _place(F.select(grid, -1, len(spatial) - 1 - dim), size, align_corners)
        for dim, size in enumerate(spatial)
    ]
    if mode == BICUBIC:
        taps = [_cubic_taps(each) for each in coordinates]
        return _summed(rows, spatial, taps, bound)
    bounded = [bound(each, size) for each, size in zip(coordinates, spatial, strict=True)]
    if mode == NEAREST:
        return _summed(rows, spatial, [_nearest_taps(each) for each in bounded], None)
    return _summed(rows, spatial, [_linear_taps(each) for each in bounded], None)


def _place(coordinate: Any, size: int, align_corners: bool) -> Any:
    """Return the place of a coordinate between -1 and 1 along a dimension of so many elements."""
    if align_corners:
        return F.mul(F.add(coordinate, 1), (size - 1) / 2)
    return F.div(F.sub(F.mul(F.add(coordinate, 1), size), 1), 2)


def _bound(padding: int, align_corners: bool) -> Bound:
    """Return what puts places within a dimension, where elements outside are not zeros."""

    def bound(place: Any, size: int) -> Any:
        if padding == REFLECTION:
            low, high = (0.0, size - 1.0) if align_corners else (-0.5, size - 0.5)
            place = _reflected(place, low, high)
        return place if padding == ZEROS else _within(place, size)

    return bound


def _within(place: Any, size: int) -> Any:
    """Return places put within a dimension; NaN is put at its begin."""
    return F.clamp(F.where(F.eq(place, place), place, F.new_zeros(place, ())), 0, size - 1)


def _reflected(place: Any, low: float, high: float) -> Any:
    """Return places reflected at two ends until they lie between."""
    span = high - low
    if not span:
        return F.zeros_like(place)
    distance = F.abs(F.sub(place, low))
    extra = F.fmod(distance, span)
    flips = F.floor(F.div(distance, span))
    is_even = F.eq(F.fmod(flips, 2), 0)
    return F.where(is_even, F.add(extra, low), F.add(F.neg(extra), high))


def _nearest_taps(place: Any) -> list[tuple[Any, Any]]:
    """Return the place nearest; its weight is 1 and has a gradient, zeros, so that grids have."""
    return [(F.round(place), F.add(F.mul(F.sign(place), 0), 1))]


def _linear_taps(place: Any) -> list[tuple[Any, Any]]:
    """Return the places around, and how much each counts."""
    low = F.floor(place)
    after = F.sub(place, low)
    return [(low, F.rsub(after, 1)), (F.add(low, 1), after)]


def _cubic_taps(place: Any) -> list[tuple[Any, Any]]:
    low = F.floor(place)
    after = F.sub(place, low)
    weights = [
        _far(F.add(after, 1)),
        _near(after),
        _near(F.rsub(after, 1)),
        _far(F.rsub(after, 2)),
    ]
    return [(F.add(low, step - 1), weight) for step, weight in enumerate(weights)]


def _near(x: Any) -> Any:
    """Return the cubic convolution kernel at distances of up to 1."""
    a = _CUBIC
    return F.add(F.mul(F.mul(F.sub(F.mul(x, a + 2), a + 3), x), x), 1)


def _far(x: Any) -> Any:
    """Return the cubic convolution kernel at distances between 1 and 2."""
    a = _CUBIC
    inner = F.add(F.mul(F.sub(F.mul(x, a), 5 * a), x), 8 * a)
    return F.sub(F.mul(inner, x), 4 * a)


def _summed(
    rows: Any, spatial: tuple[int, ...], taps: list[list[tuple[Any, Any]]], bound: Bound | None
) -> Any:
    """Return the sum over all combinations of taps of the elements there, times their weights.

    Elements outside of the image count as zeros.
    """
    total = None
    for chosen in product(*taps):
        places = [
            each if bound is None else bound(each, size)
            for (each, _), size in zip(chosen, spatial, strict=True)
        ]
        part = _elements(rows, spatial, places)
        for _, weight in chosen:
            part = F.mul(part, F.unsqueeze(weight, 1))
        total = part if total is None else F.add(total, part)
    return total


def _elements(rows: Any, spatial: tuple[int, ...], places: list[Any]) -> Any:
    """Return the elements at places, zeros outside."""
    index: Any = None
    inside: Any = None
    for place, size in zip(places, spatial, strict=True):
        within = F.logical_and(F.ge(place, 0), F.le(place, size - 1))
        inside = within if inside is None else F.logical_and(inside, within)
        step = F.to(_within(F.detach(place), size), int64)
        index = step if index is None else F.add(F.mul(index, size), step)
    shape = tuple(places[0].shape)
    flat = F.expand(F.reshape(index, (shape[0], 1, -1)), (*rows.shape[:2], -1))
    found = F.reshape(F.gather(rows, 2, flat), (*rows.shape[:2], *shape[1:]))
    return F.where(F.unsqueeze(inside, 1), found, F.zeros_like(found))


def affine_grid_generator(theta: Any, size: Any, align_corners: bool) -> Any:
    """Return the points to which affine maps take those of a regular grid."""
    _check_float("affine_grid_generator", theta)
    if len(size) not in (4, 5):
        raise RuntimeError(
            "AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs, but got a size of "
            f"{len(size)} numbers."
        )
    if theta.shape != (size[0], len(size) - 2, len(size) - 1):
        raise RuntimeError(
            f"affine_grid_generator: a size of {tuple(size)} needs maps of shape "
            f"{(size[0], len(size) - 2, len(size) - 1)}, but theta has {tuple(theta.shape)}. "
            "Give a map for each picture."
        )
    spatial = list(size[2:])
    lines = []
    for dim in reversed(range(len(spatial))):
        length = spatial[dim]
        line = F.linspace(-1, 1, length, dtype=theta.dtype, device=theta.device)
        if length == 1:
            line = F.zeros_like(line)
        if not align_corners:
            line = F.mul(line, (length - 1) / length)
        shape = [1] * len(spatial)
        shape[dim] = length
        lines.append(F.expand(F.reshape(line, shape), spatial))
    lines.append(F.ones_like(lines[0]))
    base = F.reshape(F.stack(lines, -1), (1, -1, len(lines)))
    points = F.matmul(base, F.transpose(theta, 1, 2))
    return F.reshape(points, (theta.shape[0], *spatial, len(spatial)))
