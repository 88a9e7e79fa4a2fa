"""Values that a formula may look at."""

from __future__ import annotations

from typing import Any

from dovetail_kernel import TensorBase, without_wrappers

from ..meta.meta_array import MetaArray
from ..typing import TensorLike


def readable(x: TensorLike) -> Any:
    """Return what values can be looked at: an array, or the tensor inside of all transforms, which
    has those of all samples. None on the meta device.
    """
    if not isinstance(x, TensorBase):
        return x
    inside = without_wrappers(x)
    return None if isinstance(inside.array, MetaArray) else inside
