"""Losses with margins in terms of other operators."""

from __future__ import annotations

from typing import Any

from dovetail_aten._generated import functions as F
from dovetail_aten.kernel_support.checks.margin_checks import check_classes, check_labels
from dovetail_aten.kernel_support.loss_reductions import MEAN, NONE, SUM
from dovetail_kernel import int64

from ...composites.reduced_losses import reduce
from ...typing import Scalar, Tensor, TensorLike

_COSINE_EPS = 1e-12


def hinge_embedding_loss(
    self: Tensor, target: Tensor, margin: float = 1.0, reduction: int = MEAN
) -> Any:
    """Return `self` where `target` is 1, and ``max(0, margin - self)`` where it is -1; where it is
    neither, both.
    """
    apart = F.clamp_min(F.sub(F.full_like(self, margin), self), 0)
    loss = F.add(_where_not(target, 1, apart), _where_not(target, -1, self))
    return reduce(loss, reduction)


def _where_not(target: Any, value: int, loss: Any) -> Any:
    """Return 0 where `target` is `value`, else `loss`."""
    return F.where(F.ne(target, value), loss, F.new_zeros(loss, ()))


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = MEAN
) -> Any:
    """Return ``max(0, margin - target * (input1 - input2))``, reduced."""
    ahead = F.mul(F.neg(target), F.sub(input1, input2))
    return reduce(F.clamp_min(F.add(ahead, margin), 0), reduction)


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = MEAN
) -> Any:
    """Return 1 minus the cosine of the vectors where `target` is 1, and what the cosine is above
    the margin where it is -1.
    """
    _check_cosines(input1, input2, target)
    dim = (target.ndim,)
    sizes = [F.add(F.sum(F.mul(x, x), dim), _COSINE_EPS) for x in (input1, input2)]
    cosine = F.div(F.sum(F.mul(input1, input2), dim), F.sqrt(F.mul(*sizes)))
    zero = F.new_zeros(cosine, ())
    alike = F.where(F.eq(target, 1), F.rsub(cosine, 1), zero)
    apart = F.where(F.eq(target, -1), F.clamp_min(F.sub(cosine, margin), 0), zero)
    return reduce(F.add(alike, apart), reduction)


def _check_cosines(input1: Tensor, input2: Tensor, target: TensorLike) -> None:
    if target.ndim > 1:
        raise RuntimeError(
            "0D or 1D target tensor expected, multi-target not supported. Give 1 or -1 for each "
            "pair of vectors."
        )
    if input1.ndim != target.ndim + 1 or input2.ndim != target.ndim + 1:
        raise RuntimeError(
            f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, but found "
            f"inputs with sizes {list(input1.shape)} and {list(input2.shape)}. Reshape one."
        )


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-06,
    swap: bool = False,
    reduction: int = MEAN,
) -> Any:
    """Return what the distance from the anchor to the positive is above that to the negative less
    the margin; with `swap` the negative may be nearer to the positive.
    """
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {anchor.ndim}D, positive {positive.ndim}D, and negative "
            f"{negative.ndim}D inputs. Add dimensions of size 1."
        )
    near = F.pairwise_distance(anchor, positive, p, eps)
    far = F.pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = F.minimum(far, F.pairwise_distance(positive, negative, p, eps))
    return reduce(F.clamp_min(F.sub(F.add(near, margin), far), 0), reduction)


def soft_margin_loss(self: Tensor, target: Tensor, reduction: int = MEAN) -> Any:
    """Return ``log(1 + exp(-target * self))``, reduced."""
    return reduce(F.neg(F.log_sigmoid(F.mul(self, target))), reduction)


def multi_margin_loss(
    self: Any,
    target: Tensor,
    p: object = 1,
    margin: Scalar = 1,
    weight: Tensor | None = None,
    reduction: int = MEAN,
) -> Any:
    """Return the mean over the other classes of ``max(0, margin - self[target] + self) ** p``,
    weighted by the target's class.
    """
    of_weight = None if weight is None else weight.dtype
    kinds = self.dtype, target.dtype, of_weight
    samples, count = check_classes(self, target, weight, p, *kinds)
    rows, classes = F.reshape(self, (samples, count)), F.reshape(target, (samples, 1))
    behind = F.add(F.sub(rows, F.gather(rows, 1, classes)), margin)
    behind = F.scatter(behind, 1, classes, 0)
    short = F.where(F.gt(behind, 0), behind, F.new_zeros(behind, ()))
    loss = short if p == 1 else F.mul(short, short)
    if weight is not None:
        loss = F.mul(loss, F.gather(F.expand(weight, rows.shape), 1, classes))
    loss = F.div(F.sum(loss, (1,)), count)
    return _reduced(F.reshape(loss, target.shape), reduction)


def multilabel_margin_loss(self: Tensor, target: Tensor, reduction: int = MEAN) -> Any:
    """Return ``max(0, 1 - self[label] + self[other])`` summed over the labels of a sample and the
    classes that are none, divided by the number of classes. The labels of a sample end at -1.
    """
    _, count = check_labels(self, target, self.dtype, target.dtype)
    is_single = self.ndim < 2
    rows, labels = [F.reshape(x, (1, count)) if is_single else x for x in (self, target)]
    counts = F.eq(F.cumsum(F.eq(labels, -1), 1), 0)
    marks = F.to(counts, int64)
    labels = F.mul(labels, marks)
    is_label = F.gt(F.scatter_add(F.zeros_like(marks), 1, labels, marks), 0)
    behind = F.rsub(F.sub(F.unsqueeze(F.gather(rows, 1, labels), 2), F.unsqueeze(rows, 1)), 1)
    compared = F.logical_and(F.unsqueeze(counts, 2), F.unsqueeze(F.logical_not(is_label), 1))
    # Where the margin is kept to the last digit nothing is lost, and no gradient flows.
    is_short = F.logical_and(compared, F.gt(behind, 0))
    short = F.where(is_short, behind, F.new_zeros(behind, ()))
    loss = F.div(F.sum(short, (1, 2)), count)
    return _reduced(F.reshape(loss, ()) if is_single else loss, reduction)


def _reduced(loss: Tensor, reduction: int) -> Any:
    """Return losses, their mean, or for any other number their sum."""
    return reduce(loss, reduction if reduction in (NONE, MEAN) else SUM)
