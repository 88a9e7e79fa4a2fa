"""Connectionist temporal classification: the samples of all batches become one batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._generated import functions as F
from ...batching.table import batched, logical_shape
from ...typing import Batch, Dims, Tensor
from .kernels import check_ctc


def _merged(info: Batch, x: Any, in_dim: Any, at: int) -> Any:
    """Return (B, ...) with the batch merged into dimension `at` of a sample, before what it has."""
    x = batched(x, in_dim, info.batch_size)
    if at:
        x = F.transpose(x, 0, at)
    shape = x.array.shape
    return F.reshape(x, (*shape[:at], shape[at] * shape[at + 1], *shape[at + 2 :]))


def _split(info: Batch, x: Tensor, at: int) -> Any:
    """Return what `_merged` has made, with the batch in front."""
    shape = x.array.shape
    size = info.batch_size
    x = F.reshape(x, (*shape[:at], size, shape[at] // max(size, 1), *shape[at + 1 :]))
    return F.transpose(x, 0, at) if at else x


def ctc_loss(
    info: Batch,
    in_dims: Dims,
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Sequence[int],
    target_lengths: Sequence[int],
    blank: int = 0,
    zero_infinity: bool = False,
) -> tuple[Any, Any]:
    shapes = logical_shape(log_probs, in_dims[0]), logical_shape(targets, in_dims[1])
    check_ctc(*shapes, input_lengths, target_lengths, blank)
    made = F._ctc_loss(
        _merged(info, log_probs, in_dims[0], 1),
        _merged(info, targets, in_dims[1], 0),
        [*input_lengths] * info.batch_size,
        [*target_lengths] * info.batch_size,
        blank,
        zero_infinity,
    )
    return tuple([_split(info, each, 0) for each in made]), (0, 0)


def ctc_loss_backward(
    info: Batch,
    in_dims: Dims,
    grad: object,
    log_probs: object,
    targets: object,
    input_lengths: Sequence[int],
    target_lengths: Sequence[int],
    neg_log_likelihood: object,
    log_alpha: object,
    blank: int,
    zero_infinity: bool = False,
) -> tuple[Any, Any]:
    made = F._ctc_loss_backward(
        _merged(info, grad, in_dims[0], 0),
        _merged(info, log_probs, in_dims[1], 1),
        _merged(info, targets, in_dims[2], 0),
        [*input_lengths] * info.batch_size,
        [*target_lengths] * info.batch_size,
        _merged(info, neg_log_likelihood, in_dims[5], 0),
        _merged(info, log_alpha, in_dims[6], 0),
        blank,
        zero_infinity,
    )
    return _split(info, made, 1), 0
