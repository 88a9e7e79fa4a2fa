"""Derivatives of arithmetic and of elementary functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...typing import Namespace, Scalar, TensorLike


def pow_backward(k: Namespace, grad: TensorLike, self: Any, exponent: Scalar) -> Any:
    """Return the gradient of ``self ** exponent`` for a number `exponent`."""
    if exponent == 0:
        return k.zeros_like(grad)
    if exponent == 2:
        return k.mul(grad, k.mul(k.conj(self), 2))
    return k.mul(grad, k.conj(k.mul(k.pow(self, exponent - 1), exponent)))


def pow_backward_self(k: Namespace, grad: TensorLike, self: Any, exponent: object) -> Any:
    """Return the gradient of ``self ** exponent`` with respect to `self`, for a tensor `exponent`;
    zero where it is zero.

    The base is exchanged where the power is infinite or NaN then: what is left out afterwards would
    be NaN in the next derivative.
    """
    unknown = k.logical_and(k.eq(exponent, 0), k.logical_not(k.gt(k.abs(self), 0)))
    base = k.where(unknown, 1, self)
    return k.mul(grad, k.conj(k.mul(exponent, k.pow(base, k.sub(exponent, 1)))))


def pow_backward_exponent(
    k: Namespace, grad: TensorLike, self: Any, exponent: TensorLike, result: TensorLike
) -> Any:
    """Return the gradient of ``self ** exponent`` with respect to `exponent`; zero where ``0 **
    exponent`` is constant.
    """
    if isinstance(self, (bool, int, float, complex)):
        if self == 0:
            constant = k.ge(k.real(exponent), 0)
            changing = k.where(constant, 0, result)
            return k.mul(grad, k.conj(k.mul(changing, k.where(constant, 0.0, -math.inf))))
        logarithm = (
            math.log(self)
            if not isinstance(self, complex) and self > 0
            else _complex_log(self, exponent)
        )
        return k.mul(grad, k.conj(k.mul(result, logarithm)))
    constant = k.logical_and(k.eq(self, 0), k.ge(k.real(exponent), 0))
    if "complex" in str(exponent.dtype) and "complex" not in str(self.dtype):
        self = k.add(self, 0j)
    return k.mul(grad, k.conj(k.mul(result, k.log(k.where(constant, 1, self)))))


def _complex_log(number: Any, exponent: TensorLike) -> complex:
    import cmath

    is_complex = isinstance(number, complex) or "complex" in str(exponent.dtype)
    return cmath.log(number) if is_complex else math.nan


def sgn_backward(k: Namespace, grad: TensorLike, self: Any, result: TensorLike) -> Any:
    """Return the gradient of the sign: zero for real numbers; for complex ones the part of `grad`
    that turns the sign.
    """
    if "complex" not in str(self.dtype):
        return k.zeros_like(grad)
    size = k.abs(self)
    turned = k.sub(grad, k.mul(result, k.real(k.mul(k.conj(grad), result))))
    return k.where(k.eq(size, 0), 0, k.div(turned, size))


def angle_backward(k: Namespace, grad: TensorLike, self: Any) -> Any:
    """Return the gradient of the angle: zero for real numbers."""
    if "complex" not in str(self.dtype):
        return k.zeros_like(grad)
    size = k.abs(self)
    turn = k.mul(self, 1j)
    return k.where(k.eq(size, 0), 0, k.mul(k.div(turn, k.mul(size, size)), grad))


def acosh_backward(k: Namespace, grad: TensorLike, self: Any) -> Any:
    """Return the gradient of acosh.

    The root of ``self² - 1`` has another branch cut than acosh; its factors have the same.
    """
    if "complex" not in str(self.dtype):
        return k.mul(grad, k.rsqrt(k.sub(k.mul(self, self), 1)))
    return k.mul(grad, k.conj(k.mul(k.rsqrt(k.sub(self, 1)), k.rsqrt(k.add(self, 1)))))


def atan2_slope(k: Namespace, numerator: object, self: Any, other: object) -> Any:
    """Return ``numerator / (self² + other²)``; 0 at the origin, where atan2 has no derivative."""
    square = k.add(k.mul(self, self), k.mul(other, other))
    return k.mul(numerator, k.masked_fill(k.reciprocal(square), k.eq(square, 0), 0.0))


def clamp_backward(
    k: Namespace, grad: TensorLike, self: Any, min: Scalar | None, max: Scalar | None
) -> Any:
    """Return the gradient of clamp with respect to `self`: one inside and on the bounds."""
    if min is None and max is None:
        return grad
    if max is None:
        return k.where(k.ge(self, min), grad, 0)
    if min is None:
        return k.where(k.le(self, max), grad, 0)
    return k.where(k.logical_and(k.ge(self, min), k.le(self, max)), grad, 0)


def clamp_backward_min_max(
    k: Namespace,
    grad: TensorLike,
    self: Any,
    min: object,
    max: object,
    grad_input_mask: Sequence[bool],
) -> tuple[Any, Any]:
    """Return the gradients of clamp with respect to tensor bounds: one where the bound is the
    result.
    """
    grad_min = grad_max = None
    if min is not None and grad_input_mask[0]:
        below = k.lt(self, min)
        grad_min = k.where(below if max is None else k.logical_and(below, k.lt(min, max)), grad, 0)
    if max is not None and grad_input_mask[1]:
        above = k.gt(self, max)
        grad_max = k.where(above if min is None else k.logical_or(above, k.gt(min, max)), grad, 0)
    return grad_min, grad_max


def nan_to_num_backward(k: Namespace, grad: TensorLike, self: Any) -> Any:
    """Return the gradient of nan_to_num: zero where a number replaced the element."""
    finite = k.logical_and(k.eq(self, self), k.ne(k.abs(self), math.inf))
    return k.where(finite, grad, 0)


def xlogy_self_backward(k: Namespace, grad: TensorLike, self: Any, other: object) -> Any:
    """Return the gradient of ``self * log(other)`` with respect to `self`; zero where the product
    was defined to be zero.
    """
    defined = k.logical_and(k.eq(self, 0), k.le(other, 0))
    return k.masked_fill(k.xlogy(grad, other), defined, 0)


def xlogy_number_backward(k: Namespace, grad: TensorLike, self: Any, other: Any) -> Any:
    """Return the gradient of ``self * log(other)`` for a number `other`; zero where the product was
    defined to be zero.
    """
    if other > 0:
        return k.mul(grad, math.log(other))
    slope = -math.inf if other == 0 else math.nan
    return k.masked_fill(k.mul(grad, slope), k.eq(self, 0), 0)


def xlogy_other_backward(k: Namespace, grad: TensorLike, self: Any, other: object) -> Any:
    """Return the gradient of ``self * log(other)`` with respect to `other`, `self` being a tensor
    or a number; zero at 0 where `self` or `grad` is zero, so that no infinite slope counts there.
    """
    if isinstance(self, int | float | complex) and self == 0:
        return k.mul(grad, 0)
    product = k.mul(grad, self)
    is_zero = k.logical_and(k.eq(product, 0), k.eq(other, 0))
    # Divided by 1 there: zero times the infinite slopes of higher derivatives would be NaN.
    return k.masked_fill(k.div(product, k.masked_fill(other, is_zero, 1)), is_zero, 0)


def copysign_backward(k: Namespace, grad: TensorLike, self: Any, result: TensorLike) -> Any:
    """Return the gradient of copysign: the sign that `self` was multiplied by; zero at zero."""
    return k.mul(grad, k.div(result, k.masked_fill(self, k.eq(self, 0), 1.0)))
