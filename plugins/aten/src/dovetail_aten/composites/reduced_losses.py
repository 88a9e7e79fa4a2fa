"""Losses of elements, reduced."""

from __future__ import annotations

from typing import Any

from dovetail_aten._generated import functions as F
from dovetail_aten.kernel_support.loss_reductions import MEAN, SUM

from ..typing import Tensor


def reduce(loss: Tensor, reduction: int) -> Any:
    """Return `loss` itself, its mean or its sum."""
    if reduction == MEAN:
        return F.mean(loss)
    return F.sum(loss) if reduction == SUM else loss
