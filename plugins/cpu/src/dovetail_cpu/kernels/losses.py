"""Losses between numbers in blocks: the sum of a block is taken while it lies in the cache."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy
import numpy as np

from dovetail_aten.families import Losses
from dovetail_aten.kernel_support import MEAN, NONE, SUM, Function

from ..functions.blocks import in_blocks
from ..functions.quick_functions import clip
from ..memory.scratch import BLOCK_BYTES, Scratch
from ..parallel.threads import run_pieces

_FLOATS = (numpy.dtype(numpy.float32), numpy.dtype(numpy.float64))


def _is_large(x: np.ndarray, target: np.ndarray) -> bool:
    """Return whether two arrays are many numbers that lie side by side in the same order."""
    return (
        x.nbytes > 2 * BLOCK_BYTES
        and x.dtype in _FLOATS
        and target.dtype is x.dtype
        and target.shape == x.shape
        and x.flags.c_contiguous
        and target.flags.c_contiguous
    )


_LINE = 512
"""Length of the sums that BLAS takes, which does not add pairwise."""


def _sum_of_products(x: np.ndarray, other: np.ndarray) -> Any:
    """Return the sum of ``x * other``, in lines that are then added pairwise."""
    whole = x.size - x.size % _LINE
    lines = numpy.vecdot(x[:whole].reshape(-1, _LINE), other[:whole].reshape(-1, _LINE))
    return numpy.add.reduce(lines) + x[whole:].dot(other[whole:])


def _sum_of_squares(room: np.ndarray, x: np.ndarray, target: np.ndarray) -> Any:
    """Return the sum of the squares of ``x - target``."""
    away = numpy.subtract(x, target, room[0])
    return _sum_of_products(away, away)


def _sum_of_bends(room: Any, x: np.ndarray, target: np.ndarray, bound: float = 1.0) -> Any:
    """Return the sum of Huber's loss: of ``l * d - l * l / 2`` where d is the distance and l is d
    limited to `bound`.
    """
    away, near = room[:2]
    numpy.subtract(x, target, away)
    limit = away.dtype.type(bound)
    clip(away, -limit, limit, near)
    # With their signs: they have the same one. The first sum is at least twice the half.
    half = away.dtype.type(0.5) * _sum_of_products(near, near)
    return _sum_of_products(near, away) - half


def _sum_of_smooth_bends(
    room: object, x: np.ndarray, target: np.ndarray, beta: float = 1.0
) -> Any | None:
    """Return the sum of Huber's loss divided by `beta`."""
    return _sum_of_bends(room, x, target, beta) / beta if beta > 0 else None


def _sum_of_huber_bends(
    room: object, x: np.ndarray, target: np.ndarray, delta: float = 1.0
) -> Any | None:
    """Return the sum of Huber's loss."""
    return _sum_of_bends(room, x, target, delta) if delta > 0 else None


def _loss(method: Function, summed: Callable[..., object] = lambda *_: None) -> Function:
    """Return the method that sums a loss block by block, by ``summed(room, x, target, *more)`` if
    that is made for the arguments: else it is None.
    """

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
            with Scratch() as memory:
                room = memory.view(x.dtype)
                for place in range(begin, end):
                    some, rest = [each[place * step :][:step] for each in (line, other)]
                    found = summed(room[:, : some.size], some, rest, *more)
                    sums[place] = method(self, some, rest, SUM, *more) if found is None else found

        run_pieces(compute, len(sums), line.size)
        total = float(numpy.add.reduce(sums))
        return x.dtype.type(total / line.size if reduction == MEAN else total)

    return loss


def _gradient(method: Function) -> Function:
    """Return the method that computes the gradient of a loss block by block."""

    @wraps(method)
    def gradient(
        self: Any,
        grad_output: np.ndarray,
        x: np.ndarray,
        target: np.ndarray,
        reduction: int,
        *more: Any,
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

    mse_loss = _loss(Losses.mse_loss, _sum_of_squares)
    smooth_l1_loss = _loss(Losses.smooth_l1_loss, _sum_of_smooth_bends)
    huber_loss = _loss(Losses.huber_loss, _sum_of_huber_bends)
    mse_loss_backward = _gradient(Losses.mse_loss_backward)
    smooth_l1_loss_backward = _gradient(Losses.smooth_l1_loss_backward)

    def _entropy(self, x: Any, target: Any, weight: Any, reduction: int) -> Any:
        """Return the binary cross entropy of probabilities."""
        if weight is not None:
            return Losses._entropy(self, x, target, weight, reduction)
        return _entropy_in_blocks(self, x, target, reduction)

    def _entropy_of_logits(
        self,
        x: Any,
        target: np.ndarray,
        weight: np.ndarray | None,
        pos_weight: np.ndarray | None,
        reduction: int,
    ) -> Any:
        """Return the binary cross entropy of logits, without weights block by block."""
        if weight is not None or pos_weight is not None:
            return Losses._entropy_of_logits(self, x, target, weight, pos_weight, reduction)
        return _logits_in_blocks(self, x, target, reduction)


@_loss
def _entropy_in_blocks(self: Losses, x: np.ndarray, target: np.ndarray, reduction: int) -> Any:
    return Losses._entropy(self, x, target, None, reduction)


@_loss
def _logits_in_blocks(self: Losses, x: np.ndarray, target: np.ndarray, reduction: int) -> Any:
    return Losses._entropy_of_logits(self, x, target, None, None, reduction)
