"""Derivatives of the Cholesky, LU and QR factorizations."""

from __future__ import annotations

from typing import Any

from ....typing import Namespace, TensorLike
from .linear_systems import mH


def _hermitian(k: Namespace, triangle: TensorLike) -> Any:
    """Return a Hermitian matrix with the given triangle and the real part of its diagonal."""
    both = k.add(triangle, mH(k, triangle))
    diagonal = k.diagonal(both, 0, -2, -1)
    return k.sub(both, k.diag_embed(k.mul(diagonal, 0.5)))


def _right(k: Namespace, triangular: TensorLike, x: TensorLike, *, upper: bool) -> Any:
    """Return X of ``X A = x`` for a triangular A."""
    return k.linalg_solve_triangular(triangular, x, upper=upper, left=False)


def cholesky_ex_backward(k: Namespace, grad: TensorLike, upper: bool, factor: TensorLike) -> Any:
    """Return the gradient of ``A = L L^H`` with respect to A: with P the lower triangle of L^H grad
    made Hermitian, L^-H P L^-1 / 2.
    """
    lower = mH(k, factor) if upper else factor
    slope = mH(k, grad) if upper else grad
    inner = _hermitian(k, k.tril(k.matmul(mH(k, lower), slope)))
    turned = k.linalg_solve_triangular(mH(k, lower), inner, upper=True)
    return k.mul(_right(k, lower, turned, upper=False), 0.5)


def lu_unpack_backward(
    k: Namespace, grad_L: TensorLike, grad_U: TensorLike, data: TensorLike
) -> Any:
    """Return the gradient of both factors as that of the matrix that holds them."""
    rows, columns = data.shape[-2:]
    least = min(rows, columns)
    made = k.zeros_like(data)
    if grad_L is not None:
        lower = k.tril(grad_L, -1)
        made = k.add(made, k.constant_pad_nd(lower, (0, columns - least)))
    if grad_U is not None:
        upper = k.triu(grad_U)
        made = k.add(made, k.constant_pad_nd(upper, (0, 0, 0, rows - least)))
    return made


def lu_factor_ex_backward(
    k: Namespace, grad: TensorLike, lu: TensorLike, pivots: TensorLike
) -> Any:
    """Return the gradient of ``A = P L U`` with respect to A.

    With the square parts L1 of L and U1 of U, that of the square part of P^T A is
    L1^-H (tril(L1^H gL1 - gU2 U2^H, -1) + triu(gU1 U1^H - L2^H gL2)) U1^-H; what lies below gets
    gL2 U1^-H, what lies to the right of it L1^-H gU2, and the square part what these take.
    """
    rows, columns = lu.shape[-2:]
    least = min(rows, columns)
    permutation, lower, upper = k.lu_unpack(lu, pivots)
    square_L, square_U = _rows(k, lower, 0, least), _columns(k, upper, 0, least)
    grad_L = k.tril(_columns(k, grad, 0, least), -1)
    grad_U = k.triu(_rows(k, grad, 0, least))
    left = k.matmul(mH(k, square_L), _rows(k, grad_L, 0, least))
    right = k.matmul(_columns(k, grad_U, 0, least), mH(k, square_U))
    if columns > least:
        beside = _columns(k, grad_U, least, columns)
        left = k.sub(left, k.matmul(beside, mH(k, _columns(k, upper, least, columns))))
    if rows > least:
        below = _rows(k, grad_L, least, rows)
        right = k.sub(right, k.matmul(mH(k, _rows(k, lower, least, rows)), below))
    inner = k.add(k.tril(left, -1), k.triu(right))
    made = _right(k, mH(k, square_U), inner, upper=False)
    if columns > least:
        made = k.cat([made, beside], -1)
    made = k.linalg_solve_triangular(mH(k, square_L), made, upper=True, unitriangular=True)
    if rows > least:
        made = k.cat([made, _right(k, mH(k, square_U), below, upper=False)], -2)
    return k.matmul(permutation, made)


def _rows(k: Namespace, x: TensorLike, start: int, end: int) -> Any:
    return k.slice(x, -2, start, end)


def _columns(k: Namespace, x: Any, start: int, end: int) -> Any:
    return k.slice(x, -1, start, end)


def qr_backward(k: Namespace, grad_Q: object, grad_R: object, q: Any, r: Any, mode: str) -> Any:
    """Return the gradient of ``A = Q R`` with respect to A: with S the upper triangle of
    gR R^H - Q^H gQ made Hermitian, (gQ + Q S) R^-H.

    Columns of A beyond the square part are Q times those of R.
    """
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please "
            "use linalg.qr(A, mode='reduced') if you are going to require gradients."
        )
    rows, columns = q.shape[-2], r.shape[-1]
    if mode == "complete" and rows > columns:
        raise RuntimeError(
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols. "
            "Use mode='reduced'."
        )
    beside = None
    if columns > rows:
        square, rest = _columns(k, r, 0, rows), _columns(k, r, rows, columns)
        if grad_R is not None:
            beside = k.matmul(q, _columns(k, grad_R, rows, columns))
            through_Q = k.matmul(k.matmul(q, rest), mH(k, _columns(k, grad_R, rows, columns)))
            grad_Q = through_Q if grad_Q is None else k.add(grad_Q, through_Q)
            grad_R = _columns(k, grad_R, 0, rows)
        r = square
    inner = None
    if grad_R is not None:
        inner = k.matmul(grad_R, mH(k, r))
    if grad_Q is not None:
        turned = k.neg(k.matmul(mH(k, q), grad_Q))
        inner = turned if inner is None else k.add(inner, turned)
    slope = k.matmul(q, _hermitian(k, k.triu(inner)))
    if grad_Q is not None:
        slope = k.add(slope, grad_Q)
    made = _right(k, mH(k, r), slope, upper=False)
    if columns > rows:
        rest = k.zeros_like(k.matmul(q, rest)) if beside is None else beside
        made = k.cat([made, rest], -1)
    return made
