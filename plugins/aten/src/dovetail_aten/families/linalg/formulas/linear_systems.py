"""Derivatives of inverses, determinants and solutions of linear equations."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from dovetail_kernel import finfo

from ....derivative_helpers.readable_values import readable
from ....derivative_helpers.reductions import product_of_others
from ....typing import Namespace, Tensor, TensorLike
from ..kernels.matrix_checks import is_vector_case

_LARGEST_MINORS = 1 << 24
"""Elements of all minors of all matrices up to which they are computed: one matrix of 64 rows."""
TENSORS_ONLY = frozenset({"det_backward", "lstsq_backward"})
"""Functions that work on tensors only: formulas that call them get no body over arrays."""


def is_complex(x: TensorLike) -> bool:
    """Return whether a tensor or an array has complex numbers."""
    return "complex" in str(x.dtype)


def mH(k: Namespace, x: Any) -> Any:
    """Return the conjugate of the transposed matrices."""
    return k.conj(k.transpose(x, -2, -1))


def of_matrices(k: Namespace, x: Any) -> Any:
    """Return numbers, one for each matrix, so that they broadcast over it."""
    return k.unsqueeze(k.unsqueeze(x, -1), -1)


def inv_ex_backward(k: Namespace, grad: TensorLike, inverse: TensorLike) -> Any:
    """Return the gradient of the inverse X of A with respect to A: -X^H grad X^H."""
    turned = mH(k, inverse)
    return k.neg(k.matmul(turned, k.matmul(grad, turned)))


def solve_ex_backward(
    k: Namespace,
    grad: TensorLike,
    A: TensorLike,
    B: TensorLike,
    result: TensorLike,
    left: bool,
    mask: Sequence[bool],
) -> tuple[Any, Any]:
    """Return the gradients of the solution X of ``A X = B``: that of B is A^-H grad, that of A is
    -(A^-H grad) X^H. For ``X A = B`` the same from the right.
    """
    is_vector = is_vector_case(A.shape, B.shape)
    slope = k.unsqueeze(grad, -1) if is_vector else grad
    solution = k.unsqueeze(result, -1) if is_vector else result
    to_B = k.linalg_solve_ex(mH(k, A), slope, left=left)[0]
    to_A = None
    if mask[0]:
        turned = mH(k, solution)
        to_A = k.neg(k.matmul(to_B, turned) if left else k.matmul(turned, to_B))
    return to_A, k.squeeze(to_B, -1) if is_vector else to_B


def solve_triangular_backward(
    k: Namespace,
    grad: TensorLike,
    A: TensorLike,
    result: TensorLike,
    upper: bool,
    left: bool,
    unitriangular: bool,
    mask: Sequence[bool],
) -> tuple[Any, Any]:
    """Return the gradients of the solution of a triangular system: as of any other, A's being of
    the triangle that is read.
    """
    to_B = k.linalg_solve_triangular(
        mH(k, A), grad, upper=not upper, left=left, unitriangular=unitriangular
    )
    to_A = None
    if mask[0]:
        turned = mH(k, result)
        full = k.neg(k.matmul(to_B, turned) if left else k.matmul(turned, to_B))
        offset = int(unitriangular)
        to_A = k.triu(full, offset) if upper else k.tril(full, -offset)
    return to_A, to_B


def _is_singular(k: Namespace, A: TensorLike) -> Any:
    """Return which matrices have no inverse in the precision that they are in."""
    values = k.linalg_svdvals(A)
    least = finfo(values.dtype).eps * A.shape[-1]
    return k.le(k.select(values, -1, -1), k.mul(k.select(values, -1, 0), least))


def det_backward(k: Namespace, grad: TensorLike, A: Any, det: object) -> Any:
    """Return the gradient of the determinant: the conjugate of the matrix of cofactors, which is
    det(A) A^-1 transposed where there is an inverse. Where there is none, each cofactor is computed
    as the determinant of a minor, which is a polynomial: so every derivative of it is right.
    """
    if not A.shape[-1]:
        return k.zeros_like(A)
    is_singular = _is_singular(k, A)
    known = readable(is_singular)
    if known is not None and not bool(k.any(known)):
        return _cofactors_by_inverse(k, grad, A, det)
    n = A.shape[-1]
    fits = prod(A.shape) * n**2 <= _LARGEST_MINORS
    by_others = _cofactors_by_minors if fits else _cofactors_by_svd
    ones = k.eye(n, dtype=A.dtype, device=A.device)
    chosen = of_matrices(k, is_singular)
    return k.where(
        chosen, by_others(k, grad, A), _cofactors_by_inverse(k, grad, k.where(chosen, ones, A), det)
    )


def _cofactors_by_inverse(k: Namespace, grad: TensorLike, A: TensorLike, det: object) -> Any:
    scale = of_matrices(k, k.mul(grad, k.conj(det)))
    return k.mul(scale, mH(k, k.linalg_inv_ex(A)[0]))


def _cofactors_by_minors(k: Namespace, grad: TensorLike, A: Any) -> Any:
    """Return the gradient by the determinants of all minors: n^5 steps for n rows."""
    n, lead = A.shape[-1], tuple(A.shape[:-2])
    places = k.arange(n, device=A.device)
    kept = k.slice(places, 0, 0, n - 1)
    others = k.reshape(k.add(kept, k.ge(kept, k.unsqueeze(places, -1))), (n * (n - 1),))
    rows = k.reshape(k.index_select(A, -2, others), (*lead, n * (n - 1), n))
    blocks = k.reshape(k.index_select(rows, -1, others), (*lead, n, n - 1, n, n - 1))
    minors = k.linalg_det(k.transpose(blocks, -3, -2))
    is_odd = k.remainder(k.add(k.unsqueeze(places, -1), places), 2)
    cofactors = k.mul(minors, k.sub(1, k.mul(is_odd, 2)))
    return k.mul(of_matrices(k, grad), k.conj(cofactors))


def _cofactors_by_svd(k: Namespace, grad: TensorLike, A: TensorLike) -> Any:
    """Return the gradient by the products of the other singular values, U P V^H det(U V^H): its
    own derivative is NaN where two of these are zero.
    """
    u, values, vh = k.linalg_svd(A, False)
    factor = k.conj(k.mul(k.linalg_det(u), k.linalg_det(vh)))
    others = k.unsqueeze(product_of_others(k, values, -1), -2)
    return k.mul(of_matrices(k, k.mul(grad, factor)), k.matmul(k.mul(u, others), vh))


def slogdet_backward(
    k: Namespace, grad_sign: object, grad_logabsdet: object, A: TensorLike, sign: object
) -> Any:
    """Return the gradient of sign and logarithm of the determinant: A^-H times that of the
    logarithm, to which the phase of the sign adds its imaginary part.
    """
    slope = grad_logabsdet
    if is_complex(A) and grad_sign is not None:
        turn = k.mul(k.imag(k.mul(grad_sign, k.conj(sign))), 1j)
        slope = turn if slope is None else k.add(slope, turn)
    if slope is None:
        return k.zeros_like(A)
    return k.mul(of_matrices(k, slope), mH(k, k.linalg_inv_ex(A)[0]))


def pinv_backward(k: Namespace, grad: Tensor, pinv: Tensor, A: Tensor) -> Any:
    """Return the gradient of the pseudoinverse P of A, of constant rank: -P^H grad P^H
    + (I - A P) grad^H P P^H + P^H P grad^H (I - P A).
    """
    turned, slope = mH(k, pinv), mH(k, grad)
    made = k.neg(k.matmul(turned, k.matmul(grad, turned)))
    left = k.matmul(slope, k.matmul(pinv, turned))
    made = k.add(made, k.sub(left, k.matmul(A, k.matmul(pinv, left))))
    right = k.matmul(k.matmul(turned, pinv), slope)
    return k.add(made, k.sub(right, k.matmul(k.matmul(right, pinv), A)))


def lstsq_backward(
    k: Namespace,
    grad_solution: Tensor,
    grad_residuals: TensorLike | None,
    A: Tensor,
    B: Tensor,
    solution: Tensor,
    mask: Sequence[bool],
) -> tuple[Any, Any]:
    """Return the gradients of the solution ``pinv(A) @ B``, and of the sums of squares of
    ``A @ solution - B``, which do not change with the solution.
    """
    is_vector = A.ndim - B.ndim == 1
    right = k.unsqueeze(B, -1) if is_vector else B
    found = k.unsqueeze(solution, -1) if is_vector else solution
    to_A = to_B = None
    if grad_solution is not None:
        slope = k.unsqueeze(grad_solution, -1) if is_vector else grad_solution
        pinv = k.linalg_pinv(A)
        to_B = k.matmul(mH(k, pinv), slope)
        if mask[0]:
            to_A = pinv_backward(k, k.matmul(slope, mH(k, right)), pinv, A)
    if grad_residuals is not None and tuple(grad_residuals.shape) != (0,):
        twice = k.mul(k.unsqueeze(grad_residuals, -2), 2)
        left_over = k.mul(k.sub(k.matmul(A, found), right), twice)
        turned = k.matmul(left_over, mH(k, found))
        to_A = turned if to_A is None else k.add(to_A, turned)
        to_B = k.neg(left_over) if to_B is None else k.sub(to_B, left_over)
    return to_A, k.squeeze(to_B, -1) if is_vector and to_B is not None else to_B
