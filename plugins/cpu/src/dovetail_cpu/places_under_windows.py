"""Where the elements under all windows over an image lie: what tables for small images are made of,
which are kept, since there every call of NumPy costs more than what it computes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy

from dovetail_aten.kernel_support.geometry.window_geometry import Window

__all__ = ["Lines", "lines_of", "places_under"]


class Lines(NamedTuple):
    """The windows along one dimension.

    Attributes
    ----------
    size
        Length of the dimension.
    places
        Where the elements of each lie: ``(windows, elements)``.
    within
        Which of them there are.
    """

    size: int
    places: Any
    within: Any


def lines_of(window: Window) -> Lines:
    """Return equal windows along one dimension."""
    begins = numpy.arange(window.number) * window.stride - window.padding
    places = begins[:, None] + numpy.arange(window.kernel) * window.dilation
    return Lines(window.size, places, (places >= 0) & (places < window.size))


def places_under(lines: Sequence[Lines], most: int) -> tuple[Any, Any] | None:
    """Return where the elements of all windows lie in an image, and which of them there are:
    ``(windows, elements)``; None if these are more than `most`, or none.
    """
    if not 0 < prod([each.places.size for each in lines]) <= most:
        return None
    places: Any = numpy.zeros((1, 1), numpy.int64)
    within: Any = numpy.ones((1, 1), bool)
    for size, at, is_inside in lines:
        shape = (len(places) * len(at), places.shape[1] * at.shape[1])
        places = (places[:, None, :, None] * size + at[:, None]).reshape(shape)
        within = (within[:, None, :, None] & is_inside[:, None]).reshape(shape)
    return places, within
