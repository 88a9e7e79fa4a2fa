"""Derivatives of inverses, determinants and solutions of linear equations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_kernel import finfo

from ....derivative_helpers.reductions import product_of_others
from ....meta.meta_array import MetaArray
from ..kernels.matrix_checks import is_vector_case

TENSORS_ONLY = frozenset({"det_backward", "lstsq_backward"})
"""Functions that work on tensors only: formulas that call them get no body over arrays."""


def is_complex(x: Any) -> bool:
    """Return whether a tensor or an array has complex numbers."""
    return "complex" in str(x.dtype)


def _adjoint(k: Any, x: Any) -> Any:
    return k.conj(k.transpose(x, -2, -1))


def _of_matrices(k: Any, x: Any) -> Any:
    """Return numbers, one for each matrix, so that they broadcast over it."""
    return k.unsqueeze(k.unsqueeze(x, -1), -1)


def is_readable(x: Any) -> bool:
    """Return whether the values of a tensor can be looked at: not inside of a transform, and not on
    the meta device. Those of an array can.
    """
    backend = getattr(x, "_backend", None)
    return backend is None or (bool(backend.is_device) and not isinstance(x.array, MetaArray))


def inv_ex_backward(k: Any, grad: Any, inverse: Any) -> Any:
    """Return the gradient of the inverse X of A with respect to A: -X^H grad X^H."""
    turned = _adjoint(k, inverse)
    return k.neg(k.matmul(turned, k.matmul(grad, turned)))


def solve_ex_backward(
    k: Any, grad: Any, A: Any, B: Any, result: Any, left: bool, mask: Sequence[bool]
) -> tuple[Any, Any]:
    """Return the gradients of the solution X of ``A X = B``: that of B is A^-H grad, that of A is
    -(A^-H grad) X^H. For ``X A = B`` the same from the right.
    """
    is_vector = is_vector_case(A.shape, B.shape)
    slope = k.unsqueeze(grad, -1) if is_vector else grad
    solution = k.unsqueeze(result, -1) if is_vector else result
    to_B = k.linalg_solve_ex(_adjoint(k, A), slope, left=left)[0]
    to_A = None
    if mask[0]:
        turned = _adjoint(k, solution)
        to_A = k.neg(k.matmul(to_B, turned) if left else k.matmul(turned, to_B))
    return to_A, k.squeeze(to_B, -1) if is_vector else to_B


def solve_triangular_backward(
    k: Any,
    grad: Any,
    A: Any,
    result: Any,
    upper: bool,
    left: bool,
    unitriangular: bool,
    mask: Sequence[bool],
) -> tuple[Any, Any]:
    """Return the gradients of the solution of a triangular system: as of any other, A's being of
    the triangle that is read.
    """
    to_B = k.linalg_solve_triangular(
        _adjoint(k, A), grad, upper=not upper, left=left, unitriangular=unitriangular
    )
    to_A = None
    if mask[0]:
        turned = _adjoint(k, result)
        full = k.neg(k.matmul(to_B, turned) if left else k.matmul(turned, to_B))
        offset = int(unitriangular)
        to_A = k.triu(full, offset) if upper else k.tril(full, -offset)
    return to_A, to_B


def _is_singular(k: Any, A: Any) -> Any:
    """Return which matrices have no inverse in the precision that they are in."""
    values = k.linalg_svdvals(A)
    least = finfo(values.dtype).eps * A.shape[-1]
    return k.le(k.select(values, -1, -1), k.mul(k.select(values, -1, 0), least))


def det_backward(k: Any, grad: Any, A: Any, det: Any) -> Any:
    """Return the gradient of the determinant: the conjugate of the matrix of cofactors, which is
    det(A) A^-1 transposed where there is an inverse. Where there is none, with A = U S V^H, it is
    det(U) det(V^H) U P V^H, P having the products of the other singular values.
    """
    if not A.shape[-1]:
        return k.zeros_like(A)
    singular = _is_singular(k, A)
    if is_readable(singular):
        if not bool(k.any(singular)):
            return _cofactors_by_inverse(k, grad, A, det)
        return _cofactors_by_svd(k, grad, A)
    regular = k.where(
        _of_matrices(k, singular), k.eye(A.shape[-1], dtype=A.dtype, device=A.device), A
    )
    return k.where(
        _of_matrices(k, singular),
        _cofactors_by_svd(k, grad, A),
        _cofactors_by_inverse(k, grad, regular, det),
    )


def _cofactors_by_inverse(k: Any, grad: Any, A: Any, det: Any) -> Any:
    scale = _of_matrices(k, k.mul(grad, k.conj(det)))
    return k.mul(scale, _adjoint(k, k.linalg_inv_ex(A)[0]))


def _cofactors_by_svd(k: Any, grad: Any, A: Any) -> Any:
    u, values, vh = k.linalg_svd(A, False)
    factor = k.conj(k.mul(k.linalg_det(u), k.linalg_det(vh)))
    others = k.unsqueeze(product_of_others(k, values, -1), -2)
    return k.mul(_of_matrices(k, k.mul(grad, factor)), k.matmul(k.mul(u, others), vh))


def slogdet_backward(k: Any, grad_sign: Any, grad_logabsdet: Any, A: Any, sign: Any) -> Any:
    """Return the gradient of sign and logarithm of the determinant: A^-H times that of the
    logarithm, to which the phase of the sign adds its imaginary part.
    """
    slope = grad_logabsdet
    if is_complex(A) and grad_sign is not None:
        turn = k.mul(k.imag(k.mul(grad_sign, k.conj(sign))), 1j)
        slope = turn if slope is None else k.add(slope, turn)
    if slope is None:
        return k.zeros_like(A)
    return k.mul(_of_matrices(k, slope), _adjoint(k, k.linalg_inv_ex(A)[0]))


def pinv_backward(k: Any, grad: Any, pinv: Any, A: Any) -> Any:
    """Return the gradient of the pseudoinverse P of A, of constant rank: -P^H grad P^H
    + (I - A P) grad^H P P^H + P^H P grad^H (I - P A).
    """
    turned, slope = _adjoint(k, pinv), _adjoint(k, grad)
    made = k.neg(k.matmul(turned, k.matmul(grad, turned)))
    left = k.matmul(slope, k.matmul(pinv, turned))
    made = k.add(made, k.sub(left, k.matmul(A, k.matmul(pinv, left))))
    right = k.matmul(k.matmul(turned, pinv), slope)
    return k.add(made, k.sub(right, k.matmul(k.matmul(right, pinv), A)))


def lstsq_backward(
    k: Any,
    grad_solution: Any,
    grad_residuals: Any,
    A: Any,
    B: Any,
    solution: Any,
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
        to_B = k.matmul(_adjoint(k, pinv), slope)
        if mask[0]:
            to_A = pinv_backward(k, k.matmul(slope, _adjoint(k, right)), pinv, A)
    if grad_residuals is not None and tuple(grad_residuals.shape) != (0,):
        slope = k.unsqueeze(grad_residuals, -1) if is_vector else grad_residuals
        left_over = k.mul(k.sub(k.matmul(A, found), right), k.mul(k.unsqueeze(slope, -2), 2))
        turned = k.matmul(left_over, _adjoint(k, found))
        to_A = turned if to_A is None else k.add(to_A, turned)
        to_B = k.neg(left_over) if to_B is None else k.sub(to_B, left_over)
    return to_A, k.squeeze(to_B, -1) if is_vector and to_B is not None else to_B
