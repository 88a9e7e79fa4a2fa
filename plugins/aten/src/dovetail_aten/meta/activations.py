"""Activation functions that change the shape."""

from __future__ import annotations

from ..array_kernels.gated_units import check_glu
from .meta_array import MetaArray
from .table import like


def glu(self: MetaArray, dim: int = -1) -> MetaArray:
    axis = check_glu(self.shape, dim)
    return like(self, [n // 2 if i == axis else n for i, n in enumerate(self.shape)])


def glu_backward(grad_output: MetaArray, self: MetaArray, dim: int) -> MetaArray:
    check_glu(self.shape, dim)
    return like(self)
