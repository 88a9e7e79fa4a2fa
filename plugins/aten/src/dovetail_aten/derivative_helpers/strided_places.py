"""Where in memory the elements of a tensor and of a strided part of it lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from ..kernel_support.geometry.view_bounds import extent
from ..typing import Namespace, Tensor

Geometry: TypeAlias = tuple[Sequence[int], Sequence[int], int]
"""Sizes, strides, and the place of the first element in memory."""

Part: TypeAlias = tuple[Sequence[int], Sequence[int], int | None]
"""The same of a part; None is the place where the tensor begins."""


def strided_places(k: Namespace, like: Tensor, whole: Geometry, part: Part) -> tuple[Any, Any, int]:
    """Return where in memory the elements of a tensor lie, where those of its part, and how much
    memory holds both. `like` is on the device.
    """
    (sizes, strides, offset), (size, stride, storage_offset) = whole, part
    begin = 0 if storage_offset is None else storage_offset - offset
    low = min(0, begin)
    length = max(extent(sizes, strides), begin + extent(size, stride)) - low
    places = k.arange(length, device=like.device)
    own = k.reshape(k.as_strided(places, sizes, strides, -low), (-1,))
    return own, k.reshape(k.as_strided(places, size, stride, begin - low), (-1,)), length
