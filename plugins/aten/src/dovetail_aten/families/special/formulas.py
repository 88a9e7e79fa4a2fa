"""Derivatives of special functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from ...typing import Namespace, TensorLike


def mvlgamma_backward(k: Namespace, grad: TensorLike, self: Any, p: int) -> Any:
    """Return the gradient of mvlgamma: digamma where each of its terms is lgamma."""
    slope = k.digamma(self)
    for i in range(1, p):
        slope = k.add(slope, k.digamma(k.sub(self, i / 2)))
    return k.mul(grad, slope)


def logit_double_backward(k: Namespace, product: object, self: Any, eps: float | None) -> Any:
    """Return the gradient of logit_backward with respect to `self`: the derivative of ``1 / (x * (1
    - x))`` times `product`.
    """
    # `logit_backward` gives 0 beyond the clamp; an infinite slope there would make it NaN when it
    # is differentiated again.
    inside = self if eps is None else k.clamp(self, eps, 1 - eps)
    slope = k.div(k.sub(k.mul(inside, 2), 1), k.mul(inside, k.sub(1, inside)))
    return k.logit_backward(k.mul(product, slope), self, eps)


def _near_zero(
    k: Namespace, x: TensorLike, bound: float, terms: Sequence[float]
) -> tuple[Any, Any, Any]:
    """Return the mask of the elements below `bound`, there the polynomial with the coefficients
    `terms` in their squares, and the other elements, 1 in place of these.

    A quotient of what vanishes at 0 has no derivatives there, and loses digits nearby. A polynomial
    has those of all orders that count.
    """
    near = k.lt(k.abs(x), bound)
    square = k.pow(k.masked_fill(x, k.logical_not(near), 0), 2)
    total = k.add(k.mul(square, terms[-1]), terms[-2])
    for term in reversed(terms[:-2]):
        total = k.add(k.mul(total, square), term)
    return near, total, k.masked_fill(x, near, 1)


_SINC_TERMS: Final = [
    (-1) ** n * 2 * n * math.pi ** (2 * n) / math.factorial(2 * n + 1) for n in range(1, 10)
]
"""Coefficients of the derivative of sinc divided by x."""

_I1_TERMS: Final = [
    (2 * n + 1) / (2 * 4**n * math.factorial(n) * math.factorial(n + 1)) for n in range(9)
]
"""Coefficients of the derivative of i1."""


def sinc_backward(k: Namespace, grad: TensorLike, self: Any) -> Any:
    """Return the gradient of sinc: ``(cos(pi x) - sinc(x)) / x``, which is 0 at 0."""
    near, total, far = _near_zero(k, self, 0.15, _SINC_TERMS)
    angle = k.mul(far, math.pi)
    slope = k.div(k.sub(k.cos(angle), k.div(k.sin(angle), angle)), far)
    return k.mul(grad, k.conj(k.where(near, k.mul(total, self), slope)))


def xlog1py_self_backward(k: Namespace, grad: TensorLike, self: Any, other: object) -> Any:
    """Return the gradient of ``self * log(1 + other)`` with respect to `self`; zero where the
    product was defined to be zero.
    """
    defined = k.logical_and(k.eq(self, 0), k.le(other, -1))
    return k.masked_fill(k.special_xlog1py(grad, other), defined, 0)


def i1_backward(k: Namespace, grad: TensorLike, self: Any, result: TensorLike) -> Any:
    """Return the gradient of i1: ``i0(x) - i1(x) / x``, which is 1/2 at 0."""
    near, total, far = _near_zero(k, self, 0.5, _I1_TERMS)
    return k.mul(grad, k.where(near, total, k.sub(k.i0(self), k.div(result, far))))


def i1e_backward(k: Namespace, grad: TensorLike, self: Any, result: TensorLike) -> Any:
    """Return the gradient of i1e: ``i0e(x) - i1e(x) * (sign(x) + 1 / x)``, which is 1/2 at 0."""
    near, total, far = _near_zero(k, self, 0.5, _I1_TERMS)
    slope = k.sub(k.special_i0e(self), k.div(result, far))
    slope = k.where(near, k.mul(total, k.exp(k.neg(k.abs(self)))), slope)
    return k.mul(grad, k.sub(slope, k.mul(result, k.sgn(self))))


def zeta_backward(k: Namespace, grad: TensorLike, self: Any, other: object) -> Any:
    """Return the gradient of ``zeta(self, other)`` with respect to `other`, ``-self * zeta(self +
    1, other)``; `self` may be a number.
    """
    following = self + 1 if isinstance(self, (int, float)) else k.add(self, 1)
    return k.neg(k.mul(k.mul(grad, k.special_zeta(following, other)), self))


def dirichlet_backward(k: Namespace, grad: TensorLike, result: TensorLike, self: Any) -> Any:
    """Return the gradient of numbers of the Dirichlet distribution by its parameters."""
    total = k.sum(self, (-1,), True)
    centred = k.sub(grad, k.sum(k.mul(result, grad), (-1,), True))
    return k.mul(k._dirichlet_grad(result, self, total), centred)
