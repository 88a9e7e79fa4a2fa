"""Losses between numbers in blocks: the sum of a block is taken while it lies in the cache."""

from __future__ import annotations

from functools import wraps
from typing import Any

import numpy

from dovetail_aten.array_kernels import Function, KernelTable
from dovetail_aten.array_kernels.capabilities import Capabilities
from dovetail_aten.array_kernels.losses import MEAN, NONE, SUM, Losses

from .blocks import BLOCK_BYTES, in_blocks
from .elementary import TUNED
from .threads import run_pieces

_FLOATS = (numpy.dtype(numpy.float32), numpy.dtype(numpy.float64))


def _is_large(x: Any, target: Any) -> bool:
    """Return whether two arrays are many numbers that lie side by side in the same order."""
    return (
        x.nbytes > 2 * BLOCK_BYTES
        and x.dtype in _FLOATS
        and target.dtype is x.dtype
        and target.shape == x.shape
        and x.flags.c_contiguous
        and target.flags.c_contiguous
    )


def _loss(method: Function) -> Function:
    """Return the method that sums a loss block by block."""

    @wraps(method)
    def loss(self: Any, x: Any, target: Any, reduction: int = MEAN, *more: Any) -> Any:
        if not _is_large(x, target) or reduction not in (NONE, MEAN, SUM):
            return method(self, x, target, reduction, *more)
        if reduction == NONE:
            return in_blocks(method, self, x, target, NONE, *more)
        line, other = x.reshape(-1), target.reshape(-1)
        step = BLOCK_BYTES // x.itemsize
        sums = numpy.empty(-(-line.size // step))

        def compute(begin: int, end: int) -> None:
            for place in range(begin, end):
                block = slice(place * step, place * step + step)
                sums[place] = method(self, line[block], other[block], SUM, *more)

        run_pieces(compute, len(sums), line.size)
        total = float(numpy.add.reduce(sums))
        return x.dtype.type(total / line.size if reduction == MEAN else total)

    return loss


def _gradient(method: Function) -> Function:
    """Return the method that computes the gradient of a loss block by block."""

    @wraps(method)
    def gradient(
        self: Any, grad_output: Any, x: Any, target: Any, reduction: int, *more: Any
    ) -> Any:
        if not _is_large(x, target) or grad_output.dtype is not x.dtype:
            return method(self, grad_output, x, target, reduction, *more)
        if reduction == MEAN and not grad_output.ndim:
            # The size of a block is not that of all.
            grad_output, reduction = grad_output * self.numbers.like(x, 1 / x.size), SUM
        elif reduction == MEAN:
            return method(self, grad_output, x, target, reduction, *more)
        return in_blocks(method, self, grad_output, x, target, reduction, *more)

    return gradient


class FastLosses(Losses):
    """Losses in blocks."""

    mse_loss = _loss(Losses.mse_loss)
    smooth_l1_loss = _loss(Losses.smooth_l1_loss)
    huber_loss = _loss(Losses.huber_loss)
    mse_loss_backward = _gradient(Losses.mse_loss_backward)
    smooth_l1_loss_backward = _gradient(Losses.smooth_l1_loss_backward)

    def __init__(
        self, xp: Any, capabilities: Capabilities, table: KernelTable | None = None
    ) -> None:
        super().__init__(TUNED, capabilities, table)

    def _entropy(self, x: Any, target: Any, weight: Any, reduction: int) -> Any:
        """Return the binary cross entropy of probabilities."""
        if weight is not None:
            return Losses._entropy(self, x, target, weight, reduction)
        return _entropy_in_blocks(self, x, target, reduction)

    def binary_cross_entropy_with_logits(
        self, x: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: int = MEAN
    ) -> Any:
        """Return the binary cross entropy of logits, without weights block by block."""
        if weight is not None or pos_weight is not None:
            return Losses.binary_cross_entropy_with_logits(
                self, x, target, weight, pos_weight, reduction
            )
        return _logits_in_blocks(self, x, target, reduction)


@_loss
def _entropy_in_blocks(self: Losses, x: Any, target: Any, reduction: int) -> Any:
    return Losses._entropy(self, x, target, None, reduction)


@_loss
def _logits_in_blocks(self: Losses, x: Any, target: Any, reduction: int) -> Any:
    return Losses.binary_cross_entropy_with_logits(self, x, target, None, None, reduction)
