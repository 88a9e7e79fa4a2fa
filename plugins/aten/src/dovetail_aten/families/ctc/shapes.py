"""Connectionist temporal classification."""

from __future__ import annotations

from collections.abc import Sequence

from ...meta.meta_array import MetaArray
from ...meta.table import like
from .kernels import check_ctc


def ctc_loss(
    log_probs: MetaArray,
    targets: MetaArray,
    input_lengths: Sequence[int],
    target_lengths: Sequence[int],
    blank: int = 0,
    zero_infinity: bool = False,
) -> tuple[MetaArray, MetaArray]:
    check_ctc(log_probs.shape, targets.shape, input_lengths, target_lengths, blank)
    time, samples, _ = log_probs.shape
    states = 2 * max(target_lengths, default=0) + 1
    return like(log_probs, (samples,)), like(log_probs, (samples, time, states))


def ctc_loss_backward(
    grad: MetaArray,
    log_probs: MetaArray,
    targets: MetaArray,
    input_lengths: Sequence[int],
    target_lengths: Sequence[int],
    neg_log_likelihood: MetaArray,
    log_alpha: MetaArray,
    blank: int,
    zero_infinity: bool = False,
) -> MetaArray:
    check_ctc(log_probs.shape, targets.shape, input_lengths, target_lengths, blank)
    return like(log_probs)
