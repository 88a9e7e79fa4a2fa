"""Borders that are made of an array's own elements: which element comes to each place, and what
there is no border for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

from ..dims import check_room


def bordered_shape(shape: Sequence[int], pad: Sequence[int]) -> tuple[int, ...]:
    """Return a shape with `pad` elements before and after, for dimensions from the last."""
    made = list(shape)
    for place in range(len(pad) // 2):
        made[-1 - place] += pad[2 * place] + pad[2 * place + 1]
    return tuple(made)


def bordered_sizes(
    made: Sequence[int], pad: Sequence[int], input_size: Sequence[int]
) -> tuple[int, ...]:
    """Return the shape that has the shape `made` with its border, of which the last of
    `input_size` are the sizes that have one.

    Raises
    ------
    RuntimeError
        If no such shape has.
    """
    count = len(pad) // 2
    sizes = (*made[: len(made) - count], *input_size[len(input_size) - count :])
    if bordered_shape(sizes, pad) != tuple(made):
        raise RuntimeError(
            f"grad_output of shape {list(made)} does not fit an input of size {list(input_size)} "
            f"with padding {list(pad)}. Give the gradient of its result."
        )
    return sizes


@lru_cache(256)
def sources_of(
    sizes: tuple[int, ...], pad: tuple[int, ...], mode: str
) -> tuple[tuple[int, ...] | None, ...]:
    """Return for each dimension that `pad` has a pair for, from the first, where the element at
    each place comes from; None if they stay where they are.

    Raises
    ------
    RuntimeError
        If there are not enough elements for the border, or none are left.
    """
    count, source = len(pad) // 2, BORDERS[mode]
    found: list[tuple[int, ...] | None] = []
    for dim in range(len(sizes) - count, len(sizes)):
        pair = 2 * (len(sizes) - 1 - dim)
        before, after, size = pad[pair], pad[pair + 1], sizes[dim]
        if not before and not after:
            found.append(None)
            continue
        kept = size + min(before, 0) + min(after, 0)
        _check_pair(sizes, dim, before, after, mode, kept)
        check_room(size + before + after, 40)
        first = max(-before, 0)
        places = range(-before, size + after)
        found.append(tuple([source(place, size, first, kept) for place in places]))
    return tuple(found)


def _check_pair(
    sizes: tuple[int, ...], dim: int, before: int, after: int, mode: str, kept: int
) -> None:
    size = sizes[dim]
    made = size + before + after
    limit = {"reflect": size - 1, "circular": kept}.get(mode)
    if limit is not None and max(before, after) > max(limit, 0):
        raise RuntimeError(
            "Padding size should be less than the corresponding input dimension, but got: "
            f"padding ({before}, {after}) at dimension {dim} of input {list(sizes)}. Pad less."
        )
    least = (kept, made) if mode == "circular" else (size - 1, made - 1)
    if min(least) < 0:
        raise RuntimeError(
            f"padding ({before}, {after}) leaves {made} elements of dimension {dim} of input "
            f"{list(sizes)}, which is too small. Cut off less."
        )


def _reflect(place: int, size: int, first: int, kept: int) -> int:
    return size - 1 - abs(size - 1 - abs(place))


def _replicate(place: int, size: int, first: int, kept: int) -> int:
    return min(max(place, 0), size - 1)


def _wrap(place: int, size: int, first: int, kept: int) -> int:
    # What is cut off does not come back on the other side.
    return (place - first) % max(kept, 1) + first


BORDERS: Final[dict[str, Callable[[int, int, int, int], int]]] = {
    "reflect": _reflect,
    "replicate": _replicate,
    "circular": _wrap,
}
"""Where the elements at padded places come from, given the size of the dimension and the first and
the number of those that are kept.
"""
