"""Arrays of every layout, and numbers of every kind, for tests of kernels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Array = np.ndarray
SPECIAL = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e30, -1e30, 1e-30, 1e-40, -1e-40)


def numbers(shape: tuple[int, ...], dtype: str, seed: int, special: bool) -> Array:
    """Return numbers of some size, or those and special ones."""
    random = np.random.default_rng(seed)
    made = np.asarray(random.normal(size=shape) * 4)
    if special:
        made = np.where(random.random(shape) < 0.2, random.choice(SPECIAL, shape), made)
    return np.asarray(made.astype(dtype))


def unaligned(array: Array) -> Array:
    """Return a copy whose elements begin between two multiples of their size."""
    room = np.empty(array.nbytes + 1, np.uint8)
    made = room[1:].view(array.dtype).reshape(array.shape)
    made[...] = array
    return made


def spread(array: Array) -> Array:
    """Return a copy with gaps between all elements."""
    made = np.zeros(tuple([2 * n for n in array.shape]), array.dtype)[
        (..., *[slice(None, None, 2)] * array.ndim)
    ]
    made[...] = array
    return made


def overlapping(array: Array) -> Array:
    """Return a view whose rows share elements, of the same shape."""
    if array.ndim < 2 or not array.size:
        return array
    steps = tuple([array.ndim - axis for axis in range(array.ndim)])
    extent = 1 + sum([(n - 1) * step for n, step in zip(array.shape, steps, strict=True)])
    line = np.resize(array, extent)
    strides = tuple([array.itemsize * step for step in steps])
    return np.lib.stride_tricks.as_strided(line, array.shape, strides)


LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "C order": np.ascontiguousarray,
    "Fortran's order": np.asfortranarray,
    "negative steps": lambda x: np.asarray(np.flip(x.copy())),
    "gaps": spread,
    "unaligned": unaligned,
    "expanded": lambda x: np.broadcast_to(x[:1], x.shape) if x.ndim and x.size else x,
    "one element": lambda x: (
        np.broadcast_to(x.reshape(-1)[:1].reshape(()), x.shape) if x.size else x
    ),
    "overlapping": overlapping,
    "last axes swapped": lambda x: x.swapaxes(-1, -2).copy().swapaxes(-1, -2) if x.ndim > 1 else x,
}
"""Each returns an array of the same shape in another layout; some repeat elements."""
