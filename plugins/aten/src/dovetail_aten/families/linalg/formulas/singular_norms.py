"""Derivatives of the norms that are a sum or an extreme of singular values.

They are smooth where singular values that do not matter are equal, and formulas by singular vectors
are not. These formulas solve linear equations instead, whose solutions are as smooth as the norm.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....derivative_helpers.readable_values import readable
from ....typing import Namespace, TensorLike
from .linear_systems import is_complex, mH, of_matrices
from .spectra import TIE


def singular_norm_backward(k: Namespace, grad: TensorLike, A: TensorLike, ord: str) -> Any:
    """Return the gradient of the sum, the greatest or the least singular value."""
    return k.mul(of_matrices(k, grad), k._linalg_singular_norm_gradient(A, ord))


def singular_norm_gradient_backward(
    k: Namespace, grad: TensorLike, A: TensorLike, ord: str, result: TensorLike
) -> Any:
    """Return the gradient of the gradient of the sum, the greatest or the least singular value."""
    _check_smooth(k, A, ord)
    backward = _polar_factor_backward if ord == "nuc" else _singular_pair_backward
    return backward(k, grad, A, result)


def _check_smooth(k: Namespace, A: TensorLike, ord: str) -> None:
    """Raise an error for matrices at which the norm is not differentiable: a singular value that it
    sums is zero, or the extreme one is zero or occurs twice.
    """
    values = readable(k.linalg_svdvals(A))
    if values is None:
        return
    allowed = k.mul(k.slice(values, -1, 0, 1), TIE[values.dtype.itemsize])
    single = k.slice(values, -1, 0, 1) if ord == "2" else k.slice(values, -1, -1)
    found = k.le(single, allowed)
    if ord != "nuc":
        near = k.le(k.abs(k.sub(values, single)), allowed)
        found = k.logical_or(found, k.gt(k.sum(near, (-1,), True), 1))
    if bool(k.any(found)):
        norm = {"nuc": "nuclear norm", "2": "greatest singular value", "-2": "least one"}[ord]
        raise RuntimeError(
            f"linalg.matrix_norm: The {norm} has no second derivative at a matrix with a singular "
            "value of zero, or with the extreme one twice. Add a small matrix of full rank that "
            "tells them apart."
        )


def _polar_factor_backward(k: Namespace, grad: TensorLike, A: TensorLike, q: TensorLike) -> Any:
    """Return the gradient of the factor Q of ``A = Q H``, which has orthonormal columns, or rows.

    From ``dQ = Q W + (I - Q Q^H) dA H^-1`` with ``H W + W H = Q^H dA - dA^H Q`` it is
    ``Q L(Q^H G - G^H Q) + (I - Q Q^H) G H^-1``, where L solves for W [1]_.

    References
    ----------
    .. [1] N. J. Higham, Functions of Matrices, SIAM 2008, section 8.2.
    """
    rows, columns = A.shape[-2:]
    if rows < columns:
        turned = [mH(k, each) for each in (grad, A, q)]
        return mH(k, _polar_factor_backward(k, *turned))
    h = k.matmul(mH(k, q), A)
    products = k.matmul(mH(k, q), grad)
    skew = k.sub(products, mH(k, products))
    made = k.matmul(q, k._linalg_lyapunov(h, skew))
    if rows == columns:
        return made
    outside = k.sub(grad, k.matmul(q, products))
    return k.add(made, mH(k, k.linalg_solve_ex(h, mH(k, outside))[0]))


def _singular_pair_backward(k: Namespace, grad: TensorLike, A: TensorLike, pair: TensorLike) -> Any:
    """Return the gradient of ``P = u v^H``, the vectors of a singular value s that is single.

    ``w = (u, v)`` solves ``K w = 0`` with ``K = [[s I, -A], [-A^H, s I]]``, and dw solves
    ``K dw = [[0, dA], [dA^H, 0]] w`` at right angles to w. So with y, the solution of ``K y = z``
    at right angles to w for ``z = (G v, G^H u)``, the gradient is ``y_u v^H + u y_v^H``. K gets
    ``s / 2 w w^H`` added, so that it has an inverse; and the equations are multiplied by v^H and
    u^H, so that P alone appears in them, which does not depend on the phases of u and v.
    """
    rows = A.shape[-2]
    turned, grad_turned = mH(k, pair), mH(k, grad)
    value, along = (_real(k, k.sum(k.mul(k.conj(pair), x), (-2, -1), True)) for x in (A, grad))
    left, right = k.matmul(pair, turned), k.matmul(turned, pair)
    half = k.mul(value, 0.5)
    corner = k.sub(k.mul(half, pair), A)
    above = k.cat([_plus(k, k.mul(half, left), value), corner], -1)
    below = k.cat([mH(k, corner), _plus(k, k.mul(half, right), value)], -1)
    by_v = [k.matmul(grad, right), k.matmul(grad_turned, pair)]
    by_u = [k.matmul(grad, turned), k.matmul(grad_turned, left)]
    sides = [
        k.sub(k.cat(by_v, -2), k.mul(along, k.cat([pair, right], -2))),
        k.sub(k.cat(by_u, -2), k.mul(along, k.cat([left, turned], -2))),
    ]
    made = k.linalg_solve_ex(k.cat([above, below], -2), k.cat(sides, -1))[0]
    columns = A.shape[-1]
    upper = k.slice(k.slice(made, -2, 0, rows), -1, 0, columns)
    lower = k.slice(k.slice(made, -2, rows), -1, columns)
    return k.add(upper, mH(k, lower))


def _real(k: Namespace, x: TensorLike) -> Any:
    return k.real(x) if is_complex(x) else x


def _plus(k: Namespace, matrix: TensorLike, value: TensorLike) -> Any:
    """Return ``matrix + value I``."""
    diagonal = k.expand(k.squeeze(value, -1), matrix.shape[:-1])
    return k.add(matrix, k.diag_embed(diagonal))


def lyapunov_backward(
    k: Namespace, grad: TensorLike, H: TensorLike, result: TensorLike, mask: Sequence[bool]
) -> tuple[Any, Any]:
    """Return the gradients of ``H X + X H = R``: that of R solves the same equation for that of X,
    and that of H is the Hermitian part of ``-(gR X^H + X^H gR)``.
    """
    grad_R = k._linalg_lyapunov(H, grad)
    if not mask[0]:
        return None, grad_R
    turned = mH(k, result)
    both = k.add(k.matmul(grad_R, turned), k.matmul(turned, grad_R))
    return k.mul(k.add(both, mH(k, both)), -0.5), grad_R if mask[1] else None
