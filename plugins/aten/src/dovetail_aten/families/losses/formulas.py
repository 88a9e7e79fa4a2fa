"""Derivatives of losses and of their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...derivative_helpers.shapes import broadcast_size
from ...typing import Namespace, Tensor, TensorLike

MEAN, SUM = 1, 2


def nll_loss_double_backward(k: Namespace, grad: TensorLike, *loss: Any) -> Any:
    """Return the gradient of nll_loss_backward with respect to the gradient it was given."""
    return _of_gradient(k, k.nll_loss_forward, grad, *loss)


def nll_loss2d_double_backward(k: Namespace, grad: Tensor, *loss: Any) -> Any:
    """Return the gradient of nll_loss2d_backward with respect to the gradient it was given."""
    return _of_gradient(k, k.nll_loss2d_forward, grad, *loss)


def _of_gradient(
    k: Namespace,
    forward: Any,
    grad: TensorLike,
    target: TensorLike,
    weight: Any,
    reduction: int,
    ignore_index: int,
    total_weight: Any,
) -> Any:
    """Return the gradient by `forward`, divided by the total weight that was given: it need not be
    that of these targets.
    """
    if reduction != MEAN:
        return forward(grad, target, weight, reduction, ignore_index)[0]
    return k.div(forward(grad, target, weight, SUM, ignore_index)[0], total_weight)


def mse_loss_double_backward(
    k: Namespace, grad: TensorLike, self: Any, target: Tensor, reduction: int
) -> Any:
    """Return the gradient of mse_loss_backward with respect to the input, times `grad`."""
    return k.mul(grad, 2 / max(broadcast_size(self, target), 1) if reduction == MEAN else 2)


def smooth_l1_loss_double_backward(
    k: Namespace, grad: TensorLike, self: Any, target: Tensor, reduction: int, beta: float
) -> Any:
    """Return the gradient of smooth_l1_loss_backward with respect to the input, times `grad`."""
    if beta == 0:
        return k.zeros_like(grad)
    difference = k.sub(self, target)
    curved = k.div(k.mul(grad, k.lt(k.abs(difference), beta)), beta)
    return k.div(curved, max(broadcast_size(self, target), 1)) if reduction == MEAN else curved


def smooth_l1_loss_double_backward_grad_output(
    k: Namespace, grad: TensorLike, self: Any, target: Tensor, reduction: int, beta: float
) -> Any:
    """Return the gradient of smooth_l1_loss_backward with respect to the gradient it was given."""
    difference = k.sub(self, target)
    slope = k.sgn(difference)
    if beta > 0:
        slope = k.where(k.lt(k.abs(difference), beta), k.div(difference, beta), slope)
    return k.mul(
        grad, k.div(slope, max(broadcast_size(self, target), 1)) if reduction == MEAN else slope
    )


def huber_loss_backward(
    k: Namespace, grad: TensorLike, self: Any, target: Tensor, reduction: int, delta: float
) -> Any:
    """Return the gradient of huber_loss with respect to `self`: the difference, limited."""
    slope = k.clamp(k.sub(self, target), -delta, delta)
    return _weighted(k, k.mul(grad, slope), None, [self, target], reduction)


def binary_cross_entropy_backward(
    k: Namespace,
    grad: TensorLike,
    input: TensorLike,
    target: TensorLike,
    weight: TensorLike | None,
    reduction: int,
) -> Any:
    """Return the gradient of binary_cross_entropy with respect to `input`."""
    width = k.clamp_min(k.mul(k.rsub(input, 1), input), 1e-12)
    slope = k.div(k.sub(input, target), width)
    return _weighted(k, k.mul(grad, slope), weight, [input, target], reduction)


def binary_cross_entropy_target_backward(
    k: Namespace,
    grad: TensorLike,
    input: TensorLike,
    target: TensorLike,
    weight: TensorLike | None,
    reduction: int,
) -> Any:
    """Return the gradient of binary_cross_entropy with respect to `target`."""
    other, own = k.log1p(k.neg(input)), k.log(input)
    slope = k.sub(k.clamp_min(other, -100), k.clamp_min(own, -100))
    return _weighted(k, k.mul(grad, slope), weight, [input, target], reduction)


def binary_cross_entropy_with_logits_backward(
    k: Namespace,
    grad: TensorLike,
    input: TensorLike,
    target: Tensor,
    weight: TensorLike | None,
    pos_weight: object,
    reduction: int,
) -> Any:
    """Return the gradient of the loss with respect to the logits."""
    sigmoid = k.sigmoid(input)
    if pos_weight is None:
        slope = k.sub(sigmoid, target)
    else:
        positive = k.mul(target, pos_weight)
        slope = k.sub(k.mul(k.sub(k.add(positive, 1), target), sigmoid), positive)
    return _weighted(k, k.mul(grad, slope), weight, [input, target, pos_weight], reduction)


def binary_cross_entropy_with_logits_target_backward(
    k: Namespace,
    grad: TensorLike,
    input: TensorLike,
    target: Tensor,
    weight: TensorLike | None,
    pos_weight: object,
    reduction: int,
) -> Any:
    """Return the gradient of the loss with respect to the target."""
    if pos_weight is None:
        slope = k.neg(input)
    else:
        negative = k.log_sigmoid_forward(k.neg(input))[0]
        slope = k.sub(negative, k.mul(k.log_sigmoid_forward(input)[0], pos_weight))
    return _weighted(k, k.mul(grad, slope), weight, [input, target, pos_weight], reduction)


def _weighted(
    k: Namespace,
    grad: TensorLike,
    weight: TensorLike | None,
    operands: Sequence[object],
    reduction: int,
) -> Any:
    if weight is not None:
        grad = k.mul(grad, weight)
    if reduction != MEAN:
        return grad
    return k.div(grad, max(broadcast_size(*operands, weight), 1))
