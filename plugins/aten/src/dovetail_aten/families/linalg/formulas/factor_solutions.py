"""Derivatives of what is solved with the factors of matrices, and of products of reflections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....typing import Array, Namespace, TensorLike
from .linear_systems import mH


def _of_triangle(k: Namespace, x: Array, upper: bool) -> Any:
    return k.triu(x) if upper else k.tril(x)


def lu_solve_backward(
    k: Namespace,
    grad: TensorLike,
    LU: object,
    pivots: object,
    result: TensorLike,
    left: bool,
    adjoint: bool,
    mask: Sequence[bool],
) -> tuple[Any, Any]:
    """Return the gradients of the solution X of ``A X = B`` with ``A = P L U``: that of B is
    ``G = A^-H grad``; with S = P^T G, that of L is ``-S (U X)^H`` and that of U ``-L^H S X^H``.

    For the solution of ``A^H X = B`` they are, with Y = P^T X, ``-Y (U G)^H`` and
    ``-L^H Y G^H``. A matrix on the right is the other case for X^H.
    """
    to_B = k.linalg_lu_solve(LU, pivots, grad, left=left, adjoint=not adjoint)
    if not mask[0]:
        return None, to_B
    permutation, lower, upper = k.lu_unpack(LU, pivots)
    first, second = (to_B, result) if left else (mH(k, to_B), mH(k, result))
    if left is adjoint:
        first, second = second, first
    first, second = k.matmul(k.transpose(permutation, -2, -1), first), mH(k, second)
    to_L = k.matmul(k.matmul(first, second), mH(k, upper))
    to_U = k.matmul(k.matmul(mH(k, lower), first), second)
    return k.neg(k.add(k.tril(to_L, -1), k.triu(to_U))), to_B


def cholesky_solve_backward(
    k: Namespace, grad: Array, factor: Array, result: Array, upper: bool, mask: Sequence[bool]
) -> tuple[Any, Any]:
    """Return the gradients of the solution X of ``L L^H X = B``: that of B is ``G = A^-1 grad``,
    that of L is ``-(G X^H + X G^H) L``.
    """
    to_B = k.cholesky_solve(grad, factor, upper)
    if not mask[1]:
        return to_B, None
    return to_B, _to_factor(k, k.matmul(to_B, mH(k, result)), factor, upper)


def cholesky_inverse_backward(
    k: Namespace, grad: TensorLike, factor: Array, result: TensorLike, upper: bool
) -> Any:
    """Return the gradient of the inverse X of ``L L^H``: ``-(M + M^H) L`` for ``M = X grad X``."""
    return _to_factor(k, k.matmul(result, k.matmul(grad, result)), factor, upper)


def _to_factor(k: Namespace, slope: Array, factor: Array, upper: bool) -> Any:
    both = k.add(slope, mH(k, slope))
    factor = _of_triangle(k, factor, upper)  # the other triangle is not read, whatever it holds
    made = k.matmul(factor, both) if upper else k.matmul(both, factor)
    return k.neg(_of_triangle(k, made, upper))


def _reflections(k: Namespace, x: TensorLike, tau: TensorLike) -> tuple[Any, Any, Any, Any]:
    """Return V, W, ``N`` and ``V^H V``, for the product ``I - V W`` of reflections
    ``I - tau v v^H``: W is ``(I + N)^-1 diag(tau) V^H``, N the triangle of ``V^H V`` above the
    diagonal with rows times tau.
    """
    count, columns = tau.shape[-1], x.shape[-1]
    kept = x if count == columns else k.constant_pad_nd(x, (0, count - columns))
    ones = k.triu(k.tril(k.ones_like(kept)))
    vectors = k.add(k.tril(kept, -1), ones)
    turned = mH(k, vectors)
    factors = k.unsqueeze(tau, -1)
    products = k.triu(k.matmul(turned, vectors), 1)
    inner = k.mul(products, factors)
    scaled = k.mul(turned, factors)
    made = k.linalg_solve_triangular(inner, scaled, upper=True, unitriangular=True)
    return vectors, made, inner, products


def _to_reflections(
    k: Namespace,
    columns: int,
    tau: object,
    parts: tuple[object, object, object, object],
    to_V: object,
    to_W: object,
) -> tuple[Any, Any]:
    """Return the gradients of the vectors of reflections and of their factors, given those of V
    and W.
    """
    vectors, made, inner, products = parts
    turned, factors = mH(k, vectors), k.unsqueeze(k.conj(tau), -1)
    slope = k.linalg_solve_triangular(mH(k, inner), to_W, upper=False, unitriangular=True)
    to_N = k.neg(k.triu(k.matmul(slope, mH(k, made)), 1))
    to_tau = k.add(
        k.sum(k.mul(k.conj(turned), slope), (-1,)), k.sum(k.mul(k.conj(products), to_N), (-1,))
    )
    to_products = k.mul(to_N, factors)
    to_V = k.add(to_V, mH(k, k.mul(slope, factors)))
    both = k.add(to_products, mH(k, to_products))
    to_x = k.tril(k.add(to_V, k.matmul(vectors, both)), -1)
    count = to_x.shape[-1]
    return to_x if count == columns else k.constant_pad_nd(to_x, (0, columns - count)), to_tau


def householder_product_backward(
    k: Namespace, grad: TensorLike, x: TensorLike, tau: TensorLike
) -> tuple[Any, Any]:
    """Return the gradients of the first columns of ``I - V W``: that of V is ``-grad W^H`` with
    those columns of W, that of these columns ``-V^H grad``.
    """
    rows, columns = x.shape[-2:]
    if not tau.shape[-1] or not rows or not columns:
        return k.zeros_like(x), k.zeros_like(tau)
    parts = vectors, made, _, _ = _reflections(k, x, tau)
    wide = grad if rows == columns else k.constant_pad_nd(grad, (0, rows - columns))
    to_V = k.neg(k.matmul(wide, mH(k, made)))
    to_W = k.neg(k.matmul(mH(k, vectors), wide))
    return _to_reflections(k, columns, tau, parts, to_V, to_W)


def ormqr_backward(
    k: Namespace,
    grad: TensorLike,
    x: TensorLike,
    tau: TensorLike,
    other: TensorLike,
    left: bool,
    transpose: bool,
    mask: Sequence[bool],
) -> tuple[Any, Any, Any]:
    """Return the gradients of the product of ``Q = I - V W`` and a matrix C: that of Q, ``X Y^H``,
    is ``grad C^H`` or ``C^H grad``, turned where Q is; that of V is ``-X (W Y)^H``, that of W
    ``-(V^H X) Y^H``.
    """
    if not (mask[0] or mask[1]) or 0 in x.shape:
        return None, None, k.ormqr(x, tau, grad, left, not transpose)
    if not tau.shape[-1] or 0 in other.shape:
        return k.zeros_like(x), k.zeros_like(tau), k.ormqr(x, tau, grad, left, not transpose)
    parts = vectors, made, _, _ = _reflections(k, x, tau)
    turned, made_turned = mH(k, vectors), mH(k, made)
    # Of products of matrices, as they are here anyway, where LAPACK takes them one by one.
    before, behind = (vectors, made) if transpose else (made_turned, turned)
    if left:
        away = k.matmul(before, k.matmul(behind, grad))
    else:
        away = k.matmul(k.matmul(grad, before), behind)
    first, second = (grad, other) if left else (mH(k, other), mH(k, grad))
    if transpose:
        first, second = second, first
    to_V = k.neg(k.matmul(first, mH(k, k.matmul(made, second))))
    to_W = k.neg(k.matmul(k.matmul(turned, first), mH(k, second)))
    to_x, to_tau = _to_reflections(k, x.shape[-1], tau, parts, to_V, to_W)
    return to_x, to_tau, k.sub(grad, away)
