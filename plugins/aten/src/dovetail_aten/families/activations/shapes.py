"""Activation functions that change the shape."""

from __future__ import annotations

from ...meta.meta_array import MetaArray
from ...meta.table import broadcast_result, dense_like, like
from .kernels.gated_units import check_glu


def glu(self: MetaArray, dim: int = -1) -> MetaArray:
    axis = check_glu(self.shape, dim)
    shape = [n // 2 if i == axis else n for i, n in enumerate(self.shape)]
    return dense_like(self.shown(shape, self.element_strides))


def glu_backward(grad_output: MetaArray, self: MetaArray, dim: int) -> MetaArray:
    check_glu(self.shape, dim)
    return like(self)


def prelu_backward(
    grad_output: MetaArray, self: MetaArray, weight: MetaArray
) -> tuple[MetaArray, MetaArray]:
    result = broadcast_result([grad_output, self, weight], self.dtype)
    return result, like(result)
