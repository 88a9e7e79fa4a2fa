"""Derivatives of the gradients of activations."""

from __future__ import annotations

import math
from typing import Any

from ...typing import Namespace, TensorLike

_INV_SQRT_TWO_PI = 1 / math.sqrt(2 * math.pi)
_TANH_SCALE = math.sqrt(2 / math.pi)
_TANH_CUBIC = 0.044715


def gelu_double_backward(
    k: Namespace, grad: TensorLike, grad_output: TensorLike, self: Any, approximate: str
) -> Any:
    """Return the gradient of gelu_backward with respect to `self`."""
    square = k.mul(self, self)
    if approximate == "none":
        density = k.mul(k.exp(k.mul(square, -0.5)), _INV_SQRT_TWO_PI)
        curvature = k.mul(density, k.rsub(square, 2))
    else:
        inner = k.mul(k.mul(self, k.add(k.mul(square, _TANH_CUBIC), 1)), _TANH_SCALE)
        slope = k.mul(k.add(k.mul(square, 3 * _TANH_CUBIC), 1), _TANH_SCALE)
        bend = k.mul(self, 6 * _TANH_CUBIC * _TANH_SCALE)
        # 1 - tanh² as a product loses no digits in the tails, and is 0 before `slope` overflows.
        double = k.mul(inner, 2)
        share = k.sigmoid(double)
        sech = k.mul(k.mul(share, k.sigmoid(k.neg(double))), 4)
        tanh = k.sub(k.mul(share, 2), 1)
        first = k.mul(sech, slope)
        second = k.sub(k.mul(sech, bend), k.mul(k.mul(tanh, 2), k.mul(first, slope)))
        curvature = k.add(first, k.mul(k.mul(self, second), 0.5))
    return k.mul(k.mul(grad, grad_output), curvature)


def silu_double_backward(k: Namespace, grad: TensorLike, self: Any) -> Any:
    """Return the gradient of silu_backward with respect to `self`, times `grad`."""
    sigmoid = k.sigmoid(self)
    slope = k.mul(sigmoid, k.rsub(sigmoid, 1))
    return k.mul(grad, k.conj(k.mul(slope, k.add(k.mul(self, k.rsub(k.mul(sigmoid, 2), 1)), 2))))


def elu_double_backward(
    k: Namespace,
    grad: TensorLike,
    grad_output: TensorLike,
    alpha: Any,
    scale: Any,
    input_scale: Any,
    is_result: bool,
    x: TensorLike,
) -> Any:
    """Return the gradient of elu_backward with respect to its last argument."""
    if is_result:
        bend = k.mul(grad_output, input_scale)
    else:
        bend = k.mul(
            k.mul(k.exp(k.mul(x, input_scale)), input_scale * input_scale * alpha * scale),
            grad_output,
        )
    return k.where(k.lt(x, 0), k.mul(grad, bend), 0)


def softplus_double_backward(
    k: Namespace, grad: TensorLike, self: Any, beta: object, threshold: object
) -> Any:
    """Return the gradient of softplus_backward with respect to `self`, times `grad`."""
    scaled = k.mul(self, beta)
    sigmoid = k.sigmoid(scaled)
    slope = k.mul(k.mul(sigmoid, k.rsub(sigmoid, 1)), beta)
    return k.where(k.gt(scaled, threshold), 0, k.mul(grad, slope))


def log_sigmoid_double_backward(k: Namespace, grad: TensorLike, self: Any) -> Any:
    """Return the gradient of log_sigmoid_backward with respect to `self`, times `grad`."""
    sigmoid = k.sigmoid(self)
    return k.mul(grad, k.mul(k.sub(sigmoid, 1), sigmoid))


def prelu_kernel_double_backward(
    k: Namespace,
    grad_self: object,
    grad_weight: object,
    grad_output: TensorLike,
    self: Any,
    weight: TensorLike | None,
) -> tuple[Any, Any, Any]:
    """Return the gradients of ``_prelu_kernel_backward``."""
    positive = k.gt(self, 0)  # 0 is on the side of the weight, as in the gradient
    to_output = to_self = to_weight = None
    if grad_self is not None:
        to_output = k.where(positive, grad_self, k.mul(grad_self, weight))
        to_weight = k.where(positive, 0, k.mul(grad_self, grad_output))
    if grad_weight is not None:
        through = k.where(positive, 0, k.mul(grad_weight, self))
        to_output = through if to_output is None else k.add(to_output, through)
        to_self = k.where(positive, 0, k.mul(grad_weight, grad_output))
    return to_output, to_self, to_weight


def softmax_double_backward(
    k: Namespace, grad: TensorLike, grad_output: TensorLike, dim: int, output: TensorLike
) -> Any:
    """Return the gradient of ``_softmax_backward_data`` with respect to `output`."""
    dims = (dim,)
    inner = k.sub(grad_output, k.sum(k.mul(grad_output, output), dims, True))
    outer = k.mul(grad_output, k.sum(k.mul(output, grad), dims, True))
    return k.sub(k.mul(inner, grad), outer)


def hardswish_double_backward(k: Namespace, grad: TensorLike, self: Any) -> Any:
    """Return the gradient of hardswish_backward with respect to `self`, times `grad`."""
    return k.where(k.lt(k.abs(self), 3), k.div(grad, 3), 0)


def mish_double_backward(k: Namespace, grad: TensorLike, self: Any) -> Any:
    """Return the gradient of mish_backward with respect to `self`, times `grad`: with t =
    tanh(softplus(x)) and s = sigmoid(x), ``s (1 - t²) (2 + x (1 - s - 2 s t))``.
    """
    sigmoid = k.sigmoid(self)
    gate = k.tanh(k.softplus(self, 1, 20))
    outer = k.mul(sigmoid, k.rsub(k.mul(gate, gate), 1))
    inner = k.mul(self, k.sub(k.rsub(sigmoid, 1), k.mul(k.mul(sigmoid, gate), 2)))
    return k.mul(grad, k.mul(outer, k.add(inner, 2)))


def _halves(k: Namespace, x: TensorLike, dim: int) -> tuple[Any, Any]:
    """Return the halves of `x` along `dim`."""
    size = x.shape[dim] // 2
    return k.slice(x, dim, 0, size), k.slice(x, dim, size, 2 * size)


def glu_double_backward_grad_output(k: Namespace, grad: TensorLike, self: Any, dim: int) -> Any:
    """Return the gradient of glu_backward with respect to the gradient it was given."""
    (value, gate), (to_value, to_gate) = _halves(k, self, dim), _halves(k, grad, dim)
    sigmoid = k.sigmoid(gate)
    slope = k.mul(k.mul(value, sigmoid), k.rsub(sigmoid, 1))
    return k.add(k.mul(to_value, sigmoid), k.mul(to_gate, slope))


def glu_double_backward(
    k: Namespace, grad: TensorLike, grad_output: TensorLike, self: Any, dim: int
) -> Any:
    """Return the gradient of glu_backward with respect to `self`."""
    (value, gate), (to_value, to_gate) = _halves(k, self, dim), _halves(k, grad, dim)
    sigmoid = k.sigmoid(gate)
    slope = k.mul(k.mul(sigmoid, k.rsub(sigmoid, 1)), grad_output)
    bend = k.mul(k.mul(to_gate, value), k.rsub(k.mul(sigmoid, 2), 1))
    return k.cat([k.mul(slope, to_gate), k.mul(slope, k.add(to_value, bend))], dim)
