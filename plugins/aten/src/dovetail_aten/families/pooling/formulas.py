"""Elements of images at the places that a pooling has found."""

from __future__ import annotations

import math
from typing import Any

from ...typing import Namespace, TensorLike


def elements_at_places(k: Namespace, images: TensorLike, indices: TensorLike, ndim: int) -> Any:
    """Return the elements of images at places, which count the elements of the last `ndim`
    dimensions.
    """
    lead = images.shape[: images.ndim - ndim]
    flat = k.reshape(images, (*lead, math.prod(images.shape[images.ndim - ndim :])))
    places = k.reshape(indices, (*lead, math.prod(indices.shape[indices.ndim - ndim :])))
    return k.reshape(k.gather(flat, len(lead), places), indices.shape)
