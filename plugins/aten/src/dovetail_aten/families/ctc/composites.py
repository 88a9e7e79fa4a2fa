"""Connectionist temporal classification, reduced, of lengths as numbers or as tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail_aten._generated import functions as F
from dovetail_aten.kernel_support.loss_reductions import MEAN, NONE
from dovetail_aten.tensor.data.from_data import tensor

from ...composites.reduced_losses import reduce
from ...typing import Tensor


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Sequence[int],
    target_lengths: Sequence[int],
    blank: int = 0,
    reduction: int = MEAN,
    zero_infinity: bool = False,
) -> Any:
    """Return minus the logarithms of the probabilities of the targets: the mean of what each label
    has, the sum, or that of every sample.
    """
    single = log_probs.ndim == 2
    if single:
        log_probs = F.unsqueeze(log_probs, 1)
        targets = F.unsqueeze(targets, 0) if targets.ndim == 1 else targets
    loss = F._ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity)[0]
    if zero_infinity:
        loss = F.masked_fill(loss, F.eq(loss, math.inf), 0)
    if reduction == MEAN:
        counts = tensor(
            [max(length, 1) for length in target_lengths], dtype=loss.dtype, device=loss.device
        )
        loss = F.div(loss, counts)
    return F.squeeze(loss, 0) if single and reduction == NONE else reduce(loss, reduction)


def ctc_loss_of_lengths(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int = 0,
    reduction: int = MEAN,
    zero_infinity: bool = False,
) -> Any:
    """Return `ctc_loss`, with lengths as tensors of integers."""
    lengths = []
    for name, each in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if each.dtype.is_floating_point or each.dtype.is_complex:
            raise RuntimeError(f"{name} must be integral, but got {each.dtype}. Convert it.")
        lengths.append([int(length) for length in F.reshape(each, (-1,)).tolist()])
    inputs, counts = lengths
    return ctc_loss(log_probs, targets, inputs, counts, blank, reduction, zero_infinity)
