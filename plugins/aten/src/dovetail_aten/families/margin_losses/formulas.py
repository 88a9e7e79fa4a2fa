"""Derivatives of losses with margins between classes."""

from __future__ import annotations

from typing import Any

from ...typing import Namespace, Tensor, TensorLike

MEAN = 1


def _rows(k: Namespace, x: TensorLike) -> Any:
    return x if x.ndim == 2 else k.reshape(x, (1, -1))


def _of_samples(k: Namespace, grad: TensorLike, count: int, samples: int, reduction: int) -> Any:
    """Return the gradients of the sums over classes, as a column."""
    column = k.reshape(grad, (-1, 1))
    return k.div(column, count * max(samples, 1) if reduction == MEAN else count)


def multi_margin_loss_backward(
    k: Namespace,
    grad: TensorLike,
    self: Any,
    target: Tensor,
    p: object,
    margin: object,
    weight: TensorLike | None,
    reduction: int,
) -> Any:
    """Return the gradient of multi_margin_loss: of every class whose margin is not kept that of
    its term, of the target's minus their sum.
    """
    rows = _rows(k, self)
    samples, count = rows.shape
    if not samples:
        return k.zeros_like(self)
    classes = k.reshape(target, (samples, 1))
    scale = _of_samples(k, grad, count, samples, reduction)
    if weight is not None:
        scale = k.mul(scale, k.gather(k.expand(weight, (samples, count)), 1, classes))
    behind = k.add(k.sub(rows, k.gather(rows, 1, classes)), margin)
    through = scale if p == 1 else k.mul(behind, k.mul(scale, 2))
    slope = k.where(k.gt(behind, 0), through, k.zeros_like(scale))
    own = k.sub(k.gather(slope, 1, classes), k.sum(slope, (1,), True))
    return k.reshape(k.scatter(slope, 1, classes, own), self.shape)


def multilabel_margin_loss_backward(
    k: Namespace, grad: Tensor, self: Any, target: Tensor, reduction: int
) -> Any:
    """Return the gradient of multilabel_margin_loss: for each label and each class that is none,
    1 of that class and -1 of the label where the margin is not kept.
    """
    rows, labels = _rows(k, self), _rows(k, target)
    samples, count = rows.shape
    if not samples:
        return k.zeros_like(self)
    scale = _of_samples(k, grad, count, samples, reduction)
    counts = k.eq(k.cumsum(k.eq(labels, -1), 1), 0)
    marks = k.mul(counts, 1)
    labels = k.mul(labels, marks)
    is_label = k.gt(k.scatter_add(k.zeros_like(marks), 1, labels, marks), 0)
    behind = k.sub(k.unsqueeze(k.gather(rows, 1, labels), 2), k.unsqueeze(rows, 1))
    compared = k.logical_and(k.unsqueeze(counts, 2), k.unsqueeze(k.logical_not(is_label), 1))
    scale = k.unsqueeze(scale, 2)
    short = k.where(k.logical_and(compared, k.lt(behind, 1)), scale, k.zeros_like(scale))
    of_labels = k.neg(k.sum(short, (2,)))
    return k.reshape(k.scatter_add(k.sum(short, (1,)), 1, labels, of_labels), self.shape)
