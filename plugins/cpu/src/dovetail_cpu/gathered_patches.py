"""Patches of small images, taken at places that only shapes decide and that are kept, and the sums
of patches over images: NumPy copies one line in the time of hundreds of elements.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any, Final

import numpy

from dovetail_aten.kernel_support.geometry.window_geometry import Window

from .accumulation import add_at

_MANY: Final = 1 << 16
"""Elements of patches from which on copying lines is faster."""
FEW_FOLDED: Final = 1 << 12
"""Elements of patches up to which adding them one by one is faster than adding lines."""


@lru_cache(32)
def _places_of(channels: int, windows: tuple[Window, ...]) -> Any:
    """Return where the elements of patches lie in an image: ``(channels * places, windows)``; None
    if there are none.

    Behind the image there is a zero, which stands for all padding.
    """
    if not 0 < prod([each.number * each.kernel for each in windows]) <= _MANY:
        return None
    places: Any = numpy.zeros((1, 1), numpy.int64)
    within: Any = numpy.ones((1, 1), bool)
    for each in windows:
        elements = numpy.arange(each.kernel)[:, None] * each.dilation
        at = elements + numpy.arange(each.number) * each.stride - each.padding
        shape = (len(places) * len(at), places.shape[1] * at.shape[1])
        places = (places[:, None, :, None] * each.size + at[:, None]).reshape(shape)
        is_inside = (at >= 0) & (at < each.size)
        within = (within[:, None, :, None] & is_inside[:, None]).reshape(shape)
    pixels = prod([each.size for each in windows])
    every = numpy.arange(channels)[:, None, None] * pixels + places
    return numpy.where(within, every, channels * pixels).reshape(-1, places.shape[1])


@lru_cache(32)
def _places_in_all(images: int, channels: int, windows: tuple[Window, ...]) -> Any:
    """Return the same for several images in one line, each with its zero behind if it is padded."""
    begins = numpy.arange(images) * _elements_of(channels, windows)
    return (begins[:, None] + _places_of(channels, windows).reshape(-1)).reshape(-1)


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
    places = _places_of(channels, windows)
    if places is None:
        return None
    if _is_padded(windows):
        padded: Any = numpy.empty((images, groups, flat.shape[2] + 1), x.dtype)
        padded[:, :, :-1] = flat
        padded[:, :, -1] = 0
        flat = padded
    return flat.take(places, 2)


def folded_patches(patches: Any, images: int, channels: int, windows: tuple[Window, ...]) -> Any:
    """Return images ``(images, channels, *sizes)`` whose elements are the sums of what patches
    ``(images, channels * places, windows)`` have of them.
    """
    sizes = [window.size for window in windows]
    made = numpy.zeros((images, _elements_of(channels, windows)), patches.dtype)
    add_at(made.reshape(-1), _places_in_all(images, channels, windows), patches.reshape(-1))
    return made[:, : channels * prod(sizes)].reshape(images, channels, *sizes)


def _elements_of(channels: int, windows: tuple[Window, ...]) -> int:
    """Return the elements of an image, and one for its padding."""
    return channels * prod([window.size for window in windows]) + _is_padded(windows)


def _is_padded(windows: tuple[Window, ...]) -> bool:
    """Return whether some window reaches beyond the image."""
    return any([window.padded > window.size for window in windows])
