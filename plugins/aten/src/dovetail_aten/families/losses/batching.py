"""Batching rules of losses."""

from __future__ import annotations

import math
from typing import Any

from dovetail_dispatcher import Operator

from ..._generated import functions as F
from ...batching.table import Rule, batched, call_one, logical_ndim, logical_shape, lower, padded
from ...kernel_support.loss_reductions import MEAN, NONE, SUM
from ...typing import Batch, Dims, Scalar, Tensor, TensorLike


def _reduced(loss: Tensor, reduction: int) -> Any:
    """Return the loss of each sample: summed or averaged over all but the batch dimension."""
    if reduction == NONE:
        return loss
    rows = F.reshape(loss, (loss.array.shape[0], math.prod(loss.array.shape[1:])))
    return F.mean_dim(rows, (1,)) if reduction == MEAN else F.sum_dim_IntList(rows, (1,))


def _lined_up(in_dims: Dims, *tensors: Any) -> list[Any]:
    ndim = max([logical_ndim(tensor, dim) for tensor, dim in zip(tensors, in_dims, strict=True)])
    return [padded(tensor, dim, ndim) for tensor, dim in zip(tensors, in_dims, strict=True)]


def mse_loss(
    info: Batch, in_dims: Dims, self: Any, target: Tensor, reduction: int = MEAN
) -> tuple[Any, Any]:
    left, right = _lined_up(in_dims[:2], self, target)
    return _reduced(F.mse_loss(left, right, NONE), reduction), 0


def pointwise_loss(op: Operator) -> Rule:
    """Return the rule of a loss of each element, whose argument ``reduction`` says how they are
    combined.
    """
    call = op.handle
    arguments = [a for a in op.schema.arguments if not a.kwarg_only]
    at = [a.name for a in arguments].index("reduction")
    tensors = ["Tensor" in a.real_type.schema_str for a in arguments]

    def apply(info: Batch, in_dims: Dims, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        given = [i for i, value in enumerate(args) if tensors[i] and value is not None]
        lined_up = _lined_up([in_dims[i] for i in given], *[args[i] for i in given])
        values = [*args]
        for i, tensor in zip(given, lined_up, strict=True):
            values[i] = tensor
        values[at] = NONE
        return _reduced(call(*values, **kwargs), args[at]), 0

    return apply


def mse_loss_backward(
    info: Batch, in_dims: Dims, grad_output: Tensor, self: Any, target: Tensor, reduction: int
) -> tuple[Any, Any]:
    grad, left, right = _lined_up(in_dims[:3], grad_output, self, target)
    difference = F.sub(left, right)
    unbatched = in_dims[1] is None and in_dims[2] is None
    count = (
        math.prod(difference.array.shape if unbatched else difference.array.shape[1:])
        if reduction == MEAN
        else 1
    )
    return F.mul(F.mul(difference, 2.0 / count if count else math.nan), grad), 0


def _class_weights(
    info: Batch, self: Any, target: Any, weight: Any, in_dim: Scalar | None, ignore_index: int
) -> tuple[Any, Any]:
    """Return, for batched (B, N, C) scores and (B, N) targets, the classes to read, and what each
    element counts.
    """
    kept = F.ne(target, ignore_index)
    classes = F.where_self(kept, target, F.zeros_like(target))
    if weight is None:
        weights = F.ones_like(target, dtype=self.dtype)
    elif in_dim is None:
        weights = F.view(
            F.index_select(weight, 0, F.reshape(classes, (math.prod(target.array.shape),))),
            target.shape,
        )
    else:
        weights = F.gather(weight, 1, classes)
    return classes, F.where_self(kept, weights, F.zeros_like(weights))


def _rows(info: Batch, self: Any, target: object, in_dims: Dims) -> tuple[Any, Any]:
    """Return scores as (B, N, C) and targets as (B, N): one sample of a batch has N elements, or is
    one.
    """
    scores, classes = (
        batched(self, in_dims[0], info.batch_size),
        batched(target, in_dims[1], info.batch_size),
    )
    if scores.array.ndim == 2:
        scores, classes = F.unsqueeze(scores, 1), F.reshape(classes, (info.batch_size, 1))
    return scores, classes


def nll_loss_forward(
    info: Batch,
    in_dims: Dims,
    self: Any,
    target: Any,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
) -> tuple[Any, Any]:
    if math.prod(logical_shape(self, in_dims[0])) == 0 or logical_ndim(self, in_dims[0]) not in (
        1,
        2,
    ):
        call_one(F.nll_loss_forward, in_dims, self, target, weight, reduction, ignore_index)
    _check_nll(in_dims, self, target, weight, ignore_index)
    single = logical_ndim(self, in_dims[0]) == 1
    scores, target = _rows(info, self, target, in_dims)
    classes, weights = _class_weights(info, self, target, weight, in_dims[2], ignore_index)
    picked = F.squeeze_dim(F.gather(scores, 2, F.unsqueeze(classes, 2)), 2)
    # Where nothing counts, infinite scores must not make NaN.
    losses = F.where_self(
        F.ne(target, ignore_index), F.neg(F.mul(picked, weights)), F.zeros_like(picked)
    )
    if reduction == NONE and not single:
        return (losses, F.new_zeros(losses, (info.batch_size,))), (0, 0)
    total, total_weight = F.sum_dim_IntList(losses, (1,)), F.sum_dim_IntList(weights, (1,))
    return (F.div(total, total_weight) if reduction == MEAN else total, total_weight), (0, 0)


def _check_nll(
    in_dims: Dims, self: Any, target: TensorLike, weight: TensorLike | None, ignore_index: int
) -> None:
    """Raise an error for shapes that are incompatible, and classes that do not exist, like the
    operator.
    """
    shape, classes = logical_shape(self, in_dims[0]), logical_shape(target, in_dims[1])
    fits = classes in ((), (1,)) if len(shape) == 1 else classes == shape[:1]
    fits = fits and (weight is None or logical_shape(weight, in_dims[2]) == shape[-1:])
    if not fits:
        F.nll_loss_forward(
            lower(self, in_dims[0]),
            lower(target, in_dims[1]),
            lower(weight, in_dims[2]),
            SUM,
            ignore_index,
        )
        raise AssertionError("nll_loss does not take these shapes")


def nll_loss_backward(
    info: Batch,
    in_dims: Dims,
    grad_output: Tensor,
    self: Any,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    total_weight: Tensor,
) -> tuple[Any, Any]:
    shape = logical_shape(self, in_dims[1])
    scores, target = _rows(info, self, target, in_dims[1:3])
    classes, weights = _class_weights(info, self, target, weight, in_dims[3], ignore_index)
    slope = batched(grad_output, in_dims[0], info.batch_size)
    if slope.array.ndim == 1:
        slope = F.unsqueeze(slope, 1)
    slope = F.neg(F.mul(slope, weights))
    if reduction == MEAN:
        # As the formula of the operator has it, the total weight is a constant.
        slope = F.div(
            slope,
            F.reshape(
                F.detach(total_weight), (1, 1) if in_dims[6] is None else (info.batch_size, 1)
            ),
        )
    slope = F.where_self(F.ne(target, ignore_index), slope, F.zeros_like(slope))
    made = F.scatter_src(F.zeros_like(scores), 2, F.unsqueeze(classes, 2), F.unsqueeze(slope, 2))
    return F.view(made, (info.batch_size, *shape)), 0
