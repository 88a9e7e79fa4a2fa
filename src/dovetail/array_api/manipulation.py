"""Manipulation of shapes: joining, splitting, reordering and repeating arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor

from .promotion import by_standard, promoted

__all__ = [
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "concat",
    "expand_dims",
    "flip",
    "moveaxis",
    "permute_dims",
    "repeat",
    "reshape",
    "roll",
    "squeeze",
    "stack",
    "tile",
    "unstack",
]

Axes = int | tuple[int, ...] | None


def axes_of(x: Tensor, axis: Any) -> tuple[int, ...]:
    """Return axes as a tuple of numbers from 0 on; all for None.

    Raises
    ------
    IndexError
        For one that the array does not have.
    """
    if axis is None:
        return tuple(range(x.ndim))
    given = (axis,) if isinstance(axis, int) else tuple(axis)
    for each in given:
        if not -x.ndim <= each < x.ndim:
            raise IndexError(f"axis {each} is out of bounds for an array of {x.ndim} dimensions.")
    return tuple([each % x.ndim for each in given])


def broadcast_arrays(*arrays: Tensor) -> tuple[Tensor, ...]:
    """Return arrays broadcast to their common shape."""
    return tuple(aten.broadcast_tensors(arrays)) if arrays else ()


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that arrays of `shapes` broadcast to.

    Raises
    ------
    ValueError
        If they do not.
    """
    ndim = max([len(each) for each in shapes], default=0)
    result = [1] * ndim
    for shape in shapes:
        for place, size in enumerate(shape, ndim - len(shape)):
            if size != 1 and result[place] not in (1, size):
                raise ValueError(f"shapes do not broadcast: {', '.join(map(str, shapes))}.")
            result[place] = result[place] if size == 1 else size
    return tuple(result)


def broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Tensor:
    """Return `x` broadcast to a shape."""
    return aten.broadcast_to(x, tuple(shape))


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """Concatenate arrays along an axis; None flattens them first."""
    together = promoted(*arrays)
    if axis is None:
        return aten.cat([each.reshape(-1) for each in together])
    _check_joined(together, axis)
    return aten.cat(together, axis)


def _check_joined(arrays: list[Tensor], axis: int) -> None:
    """Raise an error for arrays of several dimensions: PyTorch joins empty vectors with
    anything.
    """
    (place,) = axes_of(arrays[0], axis)
    for each in arrays:
        rest = [n for number, n in enumerate(each.shape) if number != place]
        own = [n for number, n in enumerate(arrays[0].shape) if number != place]
        if each.ndim != arrays[0].ndim or rest != own:
            raise ValueError(
                f"concat: shapes {[tuple(a.shape) for a in arrays]} differ beside axis {axis}."
            )


def expand_dims(x: Tensor, /, axis: Any) -> Tensor:
    """Return `x` with axes of size 1 inserted at the positions `axis`."""
    places = (axis,) if isinstance(axis, int) else tuple(axis)
    ndim = x.ndim + len(places)
    for each in places:
        if not -ndim <= each < ndim:
            raise IndexError(f"axis {each} is out of bounds for an array of {ndim} dimensions.")
    for each in sorted([each % ndim for each in places]):
        x = aten.unsqueeze(x, each)
    return x


@by_standard()
def flip(x: Tensor, /, *, axis: Axes = None) -> Tensor:
    """Return `x` with the order along axes reversed; None means all axes."""
    return aten.flip(x, axes_of(x, axis))


def moveaxis(x: Tensor, source: Any, destination: Any, /) -> Tensor:
    """Return `x` with axes moved to other positions."""
    axes_of(x, source), axes_of(x, destination)
    return aten.movedim(x, source, destination)


def permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Tensor:
    """Return `x` with its axes in another order."""
    return aten.permute(x, tuple(axes))


@by_standard()
def repeat(x: Tensor, repeats: Any, /, *, axis: int | None = None) -> Tensor:
    """Repeat each element along an axis; None flattens the array first."""
    if isinstance(repeats, Tensor):
        repeats = repeats.reshape(-1)
        repeats = int(repeats[0]) if repeats.shape[0] == 1 else repeats.to(aten.arange(0).dtype)
    return aten.repeat_interleave(x.reshape(-1) if axis is None else x, repeats, axis or 0)


def reshape(x: Tensor, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Tensor:
    """Return the elements of `x` in another shape; `copy` as in `asarray`."""
    if copy:
        return x.clone().reshape(tuple(shape))
    if copy is False:
        try:
            return x.view(tuple(shape))
        except RuntimeError as error:
            raise ValueError(f"reshape to {tuple(shape)} needs a copy. Leave copy out.") from error
    return aten.reshape(x, tuple(shape))


def roll(x: Tensor, /, shift: Any, *, axis: Any = None) -> Tensor:
    """Return elements shifted along axes, wrapping around at the ends."""
    if axis is None:
        return aten.roll(x, shift)
    places = (axis,) if isinstance(axis, int) else tuple(axis)
    shifts = (shift,) * len(places) if isinstance(shift, int) else tuple(shift)
    if len(shifts) != len(places):
        raise ValueError(f"roll: {len(shifts)} shifts for {len(places)} axes.")
    return aten.roll(x, shifts, axes_of(x, places))


def squeeze(x: Tensor, /, axis: object) -> Tensor:
    """Return `x` without the given axes of size 1.

    Raises
    ------
    ValueError
        If the size of an axis is not 1.
    """
    places = axes_of(x, axis)
    for each in places:
        if x.shape[each] != 1:
            raise ValueError(f"squeeze: axis {each} has {x.shape[each]} elements, not 1.")
    return aten.squeeze(x, places)


def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
    """Join arrays of equal shape along a new axis."""
    return aten.stack(promoted(*arrays), axis)


def tile(x: Tensor, repetitions: tuple[int, ...], /) -> Tensor:
    """Return `x` tiled along its axes."""
    return aten.tile(x, tuple(repetitions))


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """Return the slices of `x` along an axis, without that axis."""
    (place,) = axes_of(x, axis)
    return tuple(aten.unbind(x, place))
