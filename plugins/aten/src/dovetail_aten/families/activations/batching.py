"""Activation functions that change the shape."""

from __future__ import annotations

from typing import Any

from ..._generated import functions as F
from ...batching.table import batched, logical_shape
from ...typing import Batch, Dims, Tensor
from .kernels.gated_units import check_glu


def glu(info: Batch, in_dims: Dims, self: Any, dim: int = -1) -> tuple[Any, Any]:
    return F.glu(self, check_glu(logical_shape(self, 0), dim) + 1), 0


def glu_backward(
    info: Batch, in_dims: Dims, grad_output: Tensor, self: Any, dim: int
) -> tuple[Any, Any]:
    axis = check_glu(logical_shape(self, in_dims[1]), dim) + 1
    grad, x = [
        batched(tensor, at, info.batch_size)
        for tensor, at in zip((grad_output, self), in_dims, strict=False)
    ]
    return F.glu_backward(grad, x, axis), 0
