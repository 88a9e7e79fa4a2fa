"""Batching rules of softmax."""

from __future__ import annotations

from typing import Any

from dovetail_dispatcher import Operator
from dovetail_kernel import dtype as DType

from ..._generated import functions as F
from ...batching.table import Rule, batched, front, logical_ndim
from ...typing import Batch, Dims, Tensor


def softmax_backward(op: Operator) -> Rule:
    """Return the rule of the backward function of a softmax, along ``dim``."""
    call = op.handle

    def apply(
        info: Batch,
        in_dims: Dims,
        grad_output: Tensor,
        output: Tensor,
        dim: int,
        input_dtype: DType,
    ) -> tuple[Any, Any]:
        ndim = logical_ndim(output, in_dims[1])
        grad, made = (
            batched(grad_output, in_dims[0], info.batch_size),
            batched(output, in_dims[1], info.batch_size),
        )
        if not ndim:
            grad, made = F.unsqueeze(grad, 1), F.unsqueeze(made, 1)
        result = call(grad, made, front(dim, ndim), input_dtype)
        return result if ndim else F.squeeze_dim(result, 1), 0

    return apply
