"""The derivative of sampling images at the points of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any, NamedTuple

from dovetail_kernel import bfloat16, float16, float32, int64
from dovetail_kernel import bool as bool_

from ...typing import Namespace, Tensor, TensorLike
from .kernels.grid_sampling import BICUBIC, CUBIC, NEAREST, REFLECTION, ZEROS


class _Tap(NamedTuple):
    """An element that points take along one dimension, its weight, and how much that changes."""

    place: Any
    weight: Any
    slope: Any


def grid_sampler_backward(
    k: Namespace,
    grad: TensorLike,
    input: TensorLike,
    grid: TensorLike,
    mode: int,
    padding: int,
    align_corners: bool,
    mask: Sequence[bool],
) -> tuple[Any, Any]:
    """Return the gradients of images and of points, each if `mask` asks for it.

    Over arrays a backend has it in one pass. Over tensors it is made of operators, so that it can
    be differentiated again.
    """
    in_one_pass = getattr(k, "grid_sampler_backward", None)
    if in_one_pass is not None:
        made: tuple[Any, Any] = in_one_pass(grad, input, grid, mode, padding, align_corners, mask)
        return made
    own = input.dtype
    if own in (float16, bfloat16):
        grad, input, grid = (k.to(each, float32) for each in (grad, input, grid))
    sizes, (count, *points, ndim) = tuple(input.shape[2:]), tuple(grid.shape)
    lead = tuple(input.shape[:2])
    grid = k.reshape(grid, (count, prod(points), ndim))
    grad = k.reshape(grad, (*lead, prod(points)))
    rows = k.reshape(input, (*lead, prod(sizes)))
    taps, moves = [], []
    for dim, size in enumerate(sizes):
        # Coordinates come in the order x, y, z; the dimensions of an image are z, y, x.
        coordinate = k.select(grid, 2, ndim - 1 - dim)
        along, move = _taps(k, coordinate, size, mode, padding, align_corners)
        taps.append(along)
        moves.append(move)
    to_rows = k.zeros_like(rows)
    slopes: list[Any] = [k.zeros_like(move) for move, _ in moves]
    for chosen in product(*taps):
        index, inside = _elements(k, [each.place for each in chosen], sizes)
        index = k.expand(k.unsqueeze(index, 1), grad.shape)
        inside = k.unsqueeze(inside, 1)
        weights = [each.weight for each in chosen]
        part = k.mul(grad, k.unsqueeze(_product(k, weights), 1))
        part = k.where(inside, part, k.zeros_like(part))
        to_rows = k.scatter_add(to_rows, 2, index, part)
        found = k.gather(rows, 2, index)
        found = k.where(inside, found, k.zeros_like(found))
        counts = k.sum(k.mul(grad, found), [1])
        for dim, each in enumerate(chosen):
            if each.slope is not None:
                others = [*weights[:dim], each.slope, *weights[dim + 1 :]]
                slopes[dim] = k.add(slopes[dim], k.mul(counts, _product(k, others)))
    moved = [
        k.where(within, k.mul(slope, move), k.zeros_like(slope))
        for slope, (move, within) in zip(slopes, moves, strict=True)
    ]
    to_grid = k.reshape(k.stack(moved[::-1], -1), (count, *points, ndim))
    to_input = k.reshape(to_rows, (*lead, *sizes))
    return k.to(to_input, own) if mask[0] else None, k.to(to_grid, own) if mask[1] else None


def _product(k: Namespace, factors: Sequence[object]) -> Any:
    made = factors[0]
    for each in factors[1:]:
        made = k.mul(made, each)
    return made


def _taps(
    k: Namespace, coordinate: Tensor, size: int, mode: int, padding: int, align_corners: bool
) -> tuple[list[_Tap], tuple[Any, Any]]:
    """Return what points take along a dimension, how far places move with coordinates, and which
    of them do.
    """
    if align_corners:
        move = (size - 1) / 2
        place = k.mul(k.add(coordinate, 1), move)
    else:
        move = size / 2
        place = k.div(k.sub(k.mul(k.add(coordinate, 1), size), 1), 2)
    moves = k.full_like(place, move)
    within = k.full_like(place, True, dtype=bool_)
    if mode == BICUBIC:
        taps = _cubic_taps(k, place)
        if padding != ZEROS:
            taps = [
                each._replace(place=_bounded(k, each.place, size, padding, align_corners)[0])
                for each in taps
            ]
        return taps, (moves, within)
    if padding != ZEROS:
        place, side, within = _bounded(k, place, size, padding, align_corners)
        moves = k.mul(moves, side)
    if mode == NEAREST:
        # The weight has a derivative, zeros, so that the gradient has.
        weight = k.add(k.mul(k.sign(place), 0), 1)
        return [_Tap(k.round(place), weight, None)], (moves, within)
    low = k.floor(place)
    after = k.sub(place, low)
    one = k.ones_like(place)
    return [_Tap(low, k.sub(one, after), k.neg(one)), _Tap(k.add(low, 1), after, one)], (
        moves,
        within,
    )


def _cubic_taps(k: Namespace, place: Tensor) -> list[_Tap]:
    low = k.floor(place)
    after = k.sub(place, low)
    before = k.sub(k.ones_like(after), after)
    a = CUBIC

    def near(x: Tensor) -> tuple[Any, Any]:
        weight = k.add(k.mul(k.mul(k.sub(k.mul(x, a + 2), a + 3), x), x), 1)
        return weight, k.mul(k.sub(k.mul(x, 3 * (a + 2)), 2 * (a + 3)), x)

    def far(x: Tensor) -> tuple[Any, Any]:
        weight = k.sub(k.mul(k.add(k.mul(k.sub(k.mul(x, a), 5 * a), x), 8 * a), x), 4 * a)
        return weight, k.add(k.mul(k.sub(k.mul(x, 3 * a), 10 * a), x), 8 * a)

    pairs = far(k.add(after, 1)), near(after), near(before), far(k.add(before, 1))
    signs = (1, 1, -1, -1)
    return [
        _Tap(k.add(low, step - 1), weight, k.mul(slope, sign))
        for step, ((weight, slope), sign) in enumerate(zip(pairs, signs, strict=True))
    ]


def _bounded(
    k: Namespace, place: Tensor, size: int, padding: int, align_corners: bool
) -> tuple[Any, Any, Any]:
    """Return places put within a dimension, NaN at its begin, on which side of a mirror they were,
    and which move with those given, those between the outermost elements.
    """
    side = k.ones_like(place)
    if padding == REFLECTION:
        place, side = _reflected(k, place, size, align_corners)
    within = k.logical_and(k.gt(place, 0), k.lt(place, size - 1))
    zeros = k.zeros_like(place)
    return k.clamp(k.where(k.eq(place, place), place, zeros), 0, size - 1), side, within


def _reflected(k: Namespace, place: Tensor, size: int, align_corners: bool) -> tuple[Any, Any]:
    """Return places reflected at both ends until they lie between, and on which side."""
    low, high = (0.0, size - 1.0) if align_corners else (-0.5, size - 0.5)
    span = high - low
    if not span:
        return k.zeros_like(place), k.zeros_like(place)
    moved = k.sub(place, low)
    distance = k.abs(moved)
    extra = k.fmod(distance, span)
    flips = k.floor(k.div(distance, span))
    is_even = k.eq(k.fmod(flips, 2), 0)
    side = k.sign(moved)
    reflected = k.where(is_even, k.add(extra, low), k.sub(k.full_like(extra, high), extra))
    return reflected, k.where(is_even, side, k.neg(side))


def _elements(k: Namespace, places: Sequence[object], sizes: Sequence[int]) -> tuple[Any, Any]:
    """Return where the elements at places lie in the row of all, and which of them are there."""
    index: Any = None
    inside: Any = None
    for place, size in zip(places, sizes, strict=True):
        within = k.logical_and(k.ge(place, 0), k.le(place, size - 1))
        step = k.to(k.where(within, place, k.zeros_like(place)), int64)
        inside = within if inside is None else k.logical_and(inside, within)
        index = step if index is None else k.add(k.mul(index, size), step)
    return index, inside
