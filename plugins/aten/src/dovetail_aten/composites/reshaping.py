"""Tensors in another shape: views where the strides allow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail_aten._generated import functions as F
from dovetail_aten.kernel_support.dims import infer_size
from dovetail_aten.kernel_support.geometry.memory_layout import reshaped_strides
from dovetail_dispatcher.table import Shortcut
from dovetail_kernel import backend_of_signature, contiguous_format


@Shortcut("aten::view", ("self", "shape"), is_contiguous=True)
def reshape(self: Any, shape: Sequence[int]) -> Any:
    """Return the elements of `self` in another shape: a view if possible, else a copy."""
    if backend_of_signature(self._signature).arrays.is_contiguous(self.array):
        return F.view_default(self, size=tuple(shape))
    own = tuple(self.shape)
    sizes = infer_size(shape, math.prod(own))
    if reshaped_strides(own, self.stride(), sizes) is not None:
        return F.view_default(self, size=sizes)
    return F._unsafe_view(F.clone(self, memory_format=contiguous_format), sizes)
