"""Shapes of softmax."""

from __future__ import annotations

from dovetail_kernel import dtype as DType
from dovetail_kernel import float32

from ...kernel_support.dims import wrap_dim
from ...meta.meta_array import MetaArray
from ...meta.table import like


def softmax(self: MetaArray, dim: int, half_to_float: bool) -> MetaArray:
    wrap_dim(dim, self.ndim)
    return like(self, dtype=float32 if half_to_float else None)


def softmax_backward(
    grad_output: MetaArray, output: MetaArray, dim: int, input_dtype: DType
) -> MetaArray:
    return like(grad_output, dtype=input_dtype)
