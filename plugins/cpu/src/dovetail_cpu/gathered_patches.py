"""Patches of small images, taken at places that only shapes decide and that are kept: NumPy copies
one line in the time of hundreds of elements.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any, Final

import numpy

from dovetail_aten.array_kernels.window_geometry import Window

_MANY: Final = 1 << 16
"""Elements of patches from which on copying lines is faster."""


@lru_cache(32)
def _places_of(channels: int, windows: tuple[Window, ...]) -> Any:
    """Return where the elements of patches lie in an image: ``(channels * places, windows)``.

    Behind the image there is a zero, which stands for all padding.
    """
    beyond = channels * prod([window.size for window in windows])
    places: Any = numpy.arange(channels).reshape(-1, 1)
    is_inside: Any = numpy.ones((1, 1), bool)
    for window in windows:
        within = numpy.arange(window.kernel) * window.dilation - window.padding
        at = within[:, None] + numpy.arange(window.number) * window.stride
        fits = (at >= 0) & (at < window.size)
        kernel, number = at.shape
        rows, columns = places.shape
        places = places[:, None, :, None] * window.size + at[:, None]
        places = places.reshape(rows * kernel, columns * number)
        rows, columns = is_inside.shape
        is_inside = (is_inside[:, None, :, None] & fits[:, None]).reshape(rows * kernel, -1)
    is_inside = numpy.broadcast_to(is_inside, (channels, *is_inside.shape))
    return numpy.where(is_inside.reshape(places.shape), places, beyond)


def gathered_patches(x: Any, groups: int, windows: tuple[Window, ...]) -> Any:
    """Return the patches of images ``(images, channels, *sizes)`` as ``(images, groups, channels of
    a group * places, windows)``; None where they are many.
    """
    shape = x.shape
    images, channels = shape[0], shape[1] // groups
    number = prod([window.number for window in windows])
    if prod([window.kernel for window in windows]) * number * images * shape[1] > _MANY:
        return None
    flat = x.reshape(images, groups, -1)
    if all([each.kernel == each.stride == 1 and not each.padding for each in windows]):
        return flat.reshape(images, groups, channels, number)
    if any([window.padding for window in windows]):
        padded: Any = numpy.empty((images, groups, flat.shape[2] + 1), x.dtype)
        padded[:, :, :-1] = flat
        padded[:, :, -1] = 0
        flat = padded
    return flat.take(_places_of(channels, windows), 2)
