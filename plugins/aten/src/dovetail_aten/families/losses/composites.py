"""Loss functions in terms of other operators."""

from __future__ import annotations

import math
from typing import Any

from dovetail_aten._generated import functions as F
from dovetail_aten.families.losses.kernels.likelihood import (
    check_images,
    check_total_weight,
    unfit_batch,
)
from dovetail_aten.families.losses.kernels.losses import check_target_dtype
from dovetail_aten.kernel_support.loss_reductions import MEAN, NONE, SUM

from ...composites.reduced_losses import reduce
from ...typing import Tensor


def l1_loss(self: Tensor, target: Tensor, reduction: int = MEAN) -> Any:
    """Return the absolute differences, reduced."""
    return reduce(F.abs(F.sub(self, target)), reduction)


_IMAGES = 4
"""Dimensions of images: (N, C, H, W)."""


def nll_loss(self: Tensor, *how: Any) -> Any:
    """Return the negative log likelihood of classes under log probabilities `self` of shape (N, C)
    or (C,).
    """
    return F.nll_loss_forward(self, *how)[0]


def nll_loss_nd(
    self: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: int = MEAN,
    ignore_index: int = -100,
) -> Any:
    """Return the negative log likelihood for log probabilities of shape (N, C, ...), (N, C) or
    (C,).
    """
    if self.ndim < 1:
        raise ValueError("Expected 1 or more dimensions (got 0). Give one for the classes.")
    if self.ndim == 1 and target.ndim == 1:
        if target.shape[0] != 1:
            raise ValueError(
                "For 1D input, 1D target must have size 1, but got target size: "
                f"{target.shape[0]}. Give one class."
            )
        target = F.reshape(target, ())
    samples = target.shape[0] if target.ndim else 0
    if self.ndim > 1 and samples != self.shape[0]:
        raise unfit_batch(self.shape[0], samples)
    if self.ndim <= 2:
        return nll_loss(self, target, weight, reduction, ignore_index)
    batch, classes, *rest = self.shape
    if tuple(target.shape) != (batch, *rest):
        raise RuntimeError(
            f"Expected target size {[batch, *rest]}, got {list(target.shape)}. Reshape the target."
        )
    images, places = self, target
    if self.ndim != _IMAGES:
        images = F.reshape(self, (batch, classes, 1, math.prod(rest)))
        places = F.reshape(target, (batch, 1, math.prod(rest)))
    loss = F.nll_loss2d_forward(images, places, weight, reduction, ignore_index)[0]
    return F.reshape(loss, (batch, *rest)) if reduction == NONE and images is not self else loss


def _lines(x: Tensor) -> Any:
    """Return images (N, C, H, W) as lines of classes, one for each place."""
    return F.reshape(F.permute(x, (0, 2, 3, 1)), (-1, x.shape[1]))


def nll_loss2d_forward(
    self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> Any:
    """Return the negative log likelihood of the classes of all places of images, and the sum of
    the weights.
    """
    check_images(self, target)
    classes = F.reshape(target, (-1,))
    loss, total = F.nll_loss_forward(_lines(self), classes, weight, reduction, ignore_index)
    return (F.reshape(loss, target.shape) if reduction == NONE else loss), total


def nll_loss2d_backward(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor,
    reduction: int,
    ignore_index: int,
    total_weight: Tensor,
) -> Any:
    """Return the gradient of nll_loss2d_forward."""
    check_images(self, target)
    check_total_weight(total_weight)
    grad = F.reshape(grad_output, (-1,)) if reduction == NONE else grad_output
    classes, lines = F.reshape(target, (-1,)), _lines(self)
    made = F.nll_loss_backward(grad, lines, classes, weight, reduction, ignore_index, total_weight)
    batch, count, height, width = self.shape
    return F.contiguous(F.permute(F.reshape(made, (batch, height, width, count)), (0, 3, 1, 2)))


def cross_entropy_loss(
    self: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: int = MEAN,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Any:
    """Return the cross entropy between logits and class indices, or class probabilities in the
    shape of the logits.
    """
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    ndim = self.array.ndim
    log_probabilities = F._log_softmax(self, 0 if ndim == 1 else 1, False)
    if label_smoothing == 0.0 and ndim == 2 and target.array.ndim == 1:
        try:
            return F.nll_loss_forward(log_probabilities, target, weight, reduction, ignore_index)[0]
        except RuntimeError:  # of the batches that do not fit, the next says so
            return nll_loss_nd(log_probabilities, target, weight, reduction, ignore_index)
    if tuple(self.shape) == tuple(target.shape):
        return _with_probabilities(
            log_probabilities, target, weight, reduction, ignore_index, label_smoothing
        )
    if label_smoothing > 0.0:
        return _smoothed(
            log_probabilities, target, weight, reduction, ignore_index, label_smoothing
        )
    return nll_loss_nd(log_probabilities, target, weight, reduction, ignore_index)


def _check_reduction(reduction: int) -> None:
    if reduction not in (NONE, MEAN, SUM):
        raise RuntimeError(
            f"Invalid reduction type encountered in cross_entropy: {reduction}. Give 0 for none, "
            "1 for the mean or 2 for the sum."
        )


def _weight_along(weight: Tensor, ndim: int, class_dim: int) -> Any:
    return F.reshape(weight, [weight.shape[0] if dim == class_dim else 1 for dim in range(ndim)])


def _with_probabilities(
    log_probabilities: Tensor,
    target: Tensor,
    weight: Any,
    reduction: int,
    ignore_index: int,
    smoothing: float,
) -> Any:
    _check_reduction(reduction)
    if not target.dtype.is_floating_point:
        raise RuntimeError(
            "Expected floating point type for target with class probabilities, got "
            f"{target.dtype}. Convert it."
        )
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target. Leave it out.")
    class_dim = 0 if log_probabilities.ndim == 1 else 1
    classes = log_probabilities.shape[class_dim]
    if smoothing > 0.0:
        target = F.add(F.mul(target, 1 - smoothing), smoothing / max(classes, 1))
    terms = F.mul(log_probabilities, target)
    if weight is not None:
        terms = F.mul(terms, _weight_along(weight, terms.ndim, class_dim))
    if reduction == NONE:
        return F.neg(F.sum(terms, (class_dim,)))
    total = F.neg(F.sum(terms))
    if reduction == SUM:
        return total
    samples = math.prod(log_probabilities.shape) // classes if classes else 0
    return F.div(total, samples)  # NaN without samples


def _smoothed(
    log_probabilities: Tensor,
    target: Tensor,
    weight: Any,
    reduction: int,
    ignore_index: int,
    smoothing: float,
) -> Any:
    _check_reduction(reduction)
    class_dim = 0 if log_probabilities.ndim == 1 else 1
    classes = log_probabilities.shape[class_dim]
    nll = nll_loss_nd(log_probabilities, target, weight, reduction, ignore_index)
    terms = log_probabilities
    if weight is not None:
        terms = F.mul(terms, _weight_along(weight, terms.ndim, class_dim))
    smooth = F.neg(F.sum(terms, (class_dim,)))
    ignored = F.eq(target, ignore_index)
    smooth = F.masked_fill(smooth, ignored, 0.0)
    if reduction == SUM:
        smooth = F.sum(smooth)
    elif reduction == MEAN:
        if weight is None:
            total = F.sum(F.logical_not(ignored))
        else:
            kept = F.masked_fill(target, ignored, 0)
            chosen = F.index_select(weight, 0, F.reshape(kept, (-1,)))
            total = F.sum(F.masked_fill(F.reshape(chosen, target.shape), ignored, 0.0))
        smooth = F.div(F.sum(smooth), total)
    return F.add(F.mul(nll, 1 - smoothing), F.mul(smooth, smoothing / classes))


def binary_cross_entropy_with_logits(
    self: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: int = MEAN,
) -> Any:
    """Return the binary cross entropy between logits and targets, computed without overflow."""
    check_target_dtype(self.dtype, target.dtype)
    log_sigmoid = F.log_sigmoid_forward(self)[0]
    if pos_weight is None:
        loss = F.sub(F.mul(F.rsub(target, 1), self), log_sigmoid)
    else:
        log_weight = F.add(F.mul(F.sub(pos_weight, 1), target), 1)
        loss = F.sub(F.mul(F.rsub(target, 1), self), F.mul(log_weight, log_sigmoid))
    if weight is not None:
        loss = F.mul(loss, weight)
    return reduce(F.to(loss, target.dtype), reduction)


def kl_div(self: Tensor, target: Tensor, reduction: int = MEAN, *, log_target: bool = False) -> Any:
    """Return ``target * (log(target) - self)``, reduced; the target may be given as logarithms."""
    for dtype in (self.dtype, target.dtype):
        if not dtype.is_floating_point:
            kind = "Complex" if dtype.is_complex else "Integral"
            raise RuntimeError(
                f"kl_div: {kind} inputs not supported. Convert to a floating-point dtype."
            )
    if log_target:
        terms = F.mul(F.exp(target), F.sub(target, self))
    else:
        terms = F.sub(F.xlogy(target, target), F.mul(target, self))
    return reduce(terms, reduction)


def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int
) -> Any:
    """Return the negative log likelihood of counts `target` under Poisson distributions of means
    `input`; `full` adds Stirling's approximation of what does not depend on them.
    """
    if log_input:
        loss = F.sub(F.exp(input), F.mul(target, input))
    else:
        loss = F.sub(input, F.mul(target, F.log(F.add(input, eps))))
    if full:
        small = F.le(target, 1)
        counts = F.masked_fill(target, small, 1)  # the logarithm of 0 has no finite derivative
        entropy = F.sub(F.mul(counts, F.log(counts)), counts)
        stirling = F.add(entropy, F.mul(F.log(F.mul(counts, 2 * math.pi)), 0.5))
        loss = F.add(loss, F.to(F.masked_fill(stirling, small, 0), loss.dtype))
    return reduce(loss, reduction)


def smooth_l1_loss_backward(
    grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, beta: float
) -> Any:
    """Return the gradient of smooth_l1_loss with respect to `self`."""
    difference = F.sub(self, target)
    slope = F.sgn(difference)
    if beta > 0:
        slope = F.where_self(F.lt(F.abs(difference), beta), F.div(difference, beta), slope)
    if reduction == MEAN:
        slope = F.div(slope, math.prod(difference.shape))
    return F.mul(slope, grad_output)
