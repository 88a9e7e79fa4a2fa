"""Adding at repeated places in ways that `numpy.add.at` is fast for, or without it."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .sums_of_rows import add_rows

Array = np.ndarray[Any, Any]


def places_along(array: Array, dim: int, index: Array) -> Array:
    """Return where in a C-contiguous array, counted in elements, the elements at `index` along
    `dim` lie.

    One index per element is what `np.add.at` is fast for.
    """
    steps = [stride // array.itemsize for stride in array.strides]
    places: Array = index * np.int64(steps[dim])
    for each, (length, step) in enumerate(zip(index.shape, steps, strict=True)):
        if each != dim:
            shape = [1] * index.ndim
            shape[each] = length
            places += (
                np.arange(0, length * step, step, dtype=np.int64).reshape(shape) if step else 0
            )
    return places


def add_at_leading(array: Array, key: tuple[Any, ...], values: Any) -> bool:
    """Add `values` to `array` at ``[key]`` if that names places along the leading dimensions;
    return whether it does.

    Elements are added by one index each, and rows by runs of equal indices.
    """
    leading = len(key)
    arrays = [each for each in key if isinstance(each, np.ndarray) and each.dtype.kind in "iu"]
    if not leading or len(arrays) != leading or not array.flags.c_contiguous or not array.size:
        return False
    places: Any = 0
    for index, length in zip(arrays, array.shape, strict=False):
        if not index.size or index.min() < 0 or index.max() >= length:
            return False
        places = places * length + index
    inner = array.shape[leading:]
    values = np.broadcast_to(values, (*places.shape, *inner))
    if array.dtype != values.dtype:
        return False
    width = prod(inner)
    target = array.reshape(-1, width)
    if width == 1:
        np.add.at(target[:, 0], places.reshape(-1), values.reshape(-1))
    else:
        add_rows(target, places.reshape(-1), values.reshape(-1, width))
    return True
