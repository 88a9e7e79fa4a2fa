"""Tensors in another shape: views where the strides allow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail_aten._generated import functions as F
from dovetail_aten.kernel_support.dims import infer_size
from dovetail_dispatcher.table import Shortcut
from dovetail_kernel import backend_of_signature, contiguous_format


def can_view(shape: Sequence[int], strides: Sequence[int], wanted: Sequence[int]) -> bool:
    """Return whether elements of `shape` and `strides` can be seen as `wanted` without copying."""
    if 0 in shape:
        return True
    blocks: list[list[int]] = []
    for size, stride in zip(shape, strides, strict=True):
        if size == 1:
            continue
        if blocks and blocks[-1][1] == size * stride:
            blocks[-1] = [blocks[-1][0] * size, stride]
        else:
            blocks.append([size, stride])
    rest = [size for size in wanted if size != 1]
    for size, _ in reversed(blocks):
        while size > 1:
            if not rest or size % rest[-1]:
                return False
            size //= rest.pop()
    return not rest


@Shortcut("aten::view", ("self", "shape"), is_contiguous=True)
def reshape(self: Any, shape: Sequence[int]) -> Any:
    """Return the elements of `self` in another shape: a view if possible, else a copy."""
    if backend_of_signature(self._signature).arrays.is_contiguous(self.array):
        return F.view_default(self, size=tuple(shape))
    own = tuple(self.shape)
    sizes = infer_size(shape, math.prod(own))
    if can_view(own, self.stride(), sizes):
        return F.view_default(self, size=sizes)
    return F._unsafe_view(F.clone(self, memory_format=contiguous_format), sizes)
