"""Derivatives of eigenvalues, singular values and the matrix exponential."""

from __future__ import annotations

from typing import Any, Final

from ....derivative_helpers.missing_gradients import added
from ....derivative_helpers.readable_values import readable
from ....typing import Namespace, TensorLike
from .linear_systems import is_complex, mH

_TOLERANCE = 1e-2
"""How far a loss may depend on the phases of vectors before its gradient is refused."""
_ROUNDING = 1e4
"""Multiples of the precision of the largest gradient of a vector that may be rounding as well."""
_PRECISION = {8: 2**-23, 16: 2**-52}
"""By the bytes of a complex number."""
TIE: Final = {4: 2**-21, 8: 2**-46}
"""By the bytes of a value: two values that differ by less than this part of the greatest are equal
up to rounding. Few large matrices of single precision have two others that are so near.
"""


def _skew(k: Namespace, x: TensorLike) -> Any:
    return k.sub(x, mH(k, x))


def _differences(k: Namespace, values: TensorLike) -> Any:
    """Return the differences of all values, column minus row, with ones on the diagonal."""
    made = k.sub(k.unsqueeze(values, -2), k.unsqueeze(values, -1))
    ones = k.diag_embed(k.new_ones(values, values.shape))
    return k.add(made, ones)


def _check_phases(k: Namespace, name: str, what: str, first: Any, second: Any = None) -> None:
    """Raise an error for a loss that depends on the phases of vectors, which are arbitrary:
    products of these and their gradients have numbers on the diagonal that are not real, in sum.
    """
    total = added(k, first, second)
    if not is_complex(total) or 0 in total.shape:
        return
    size = added(k, *[None if each is None else k.abs(each) for each in (first, second)])
    sizes = k.unsqueeze(k.amax(size, (-2, -1)), -1)
    allowed = k.add(k.mul(sizes, _ROUNDING * _PRECISION[total.dtype.itemsize]), _TOLERANCE)
    found = readable(k.gt(k.abs(k.imag(k.diagonal(total, 0, -2, -1))), allowed))
    if found is not None and bool(k.any(found)):
        raise RuntimeError(
            f"{name}: The {what} in the complex case are specified up to multiplication by "
            f"e^{{i phi}}. The specified loss function depends on this quantity, so it is "
            "ill-defined. Make it independent of the phases."
        )


def _check_single(k: Namespace, name: str, values: Any, *losses: tuple[Any, bool]) -> None:
    """Raise an error for a loss that depends on vectors whose value is that of other vectors as
    well: they are arbitrary. Functions of values alone may have a second derivative there, and it
    depends on more than the gradients of vectors say.

    Each of `losses` has the gradient of vectors, which are columns, or None, and says whether those
    of zeros are arbitrary too.
    """
    if 0 in values.shape:
        return
    sizes = k.abs(values)
    allowed = k.mul(k.amax(sizes, (-1,), True), TIE[sizes.dtype.itemsize])
    gaps = k.abs(k.sub(k.unsqueeze(values, -1), k.unsqueeze(values, -2)))
    tied = k.gt(k.sum(k.le(gaps, k.unsqueeze(allowed, -1)), (-1,)), 1)
    for grad, zeros in losses:
        if grad is None:
            continue
        arbitrary = k.logical_or(tied, k.le(sizes, allowed)) if zeros else tied
        found = readable(k.logical_and(arbitrary, k.gt(k.amax(k.abs(grad), (-2,)), 0)))
        if found is not None and bool(k.any(found)):
            raise RuntimeError(
                f"{name}: The loss depends on the vectors of values that are equal or zero, up to "
                "rounding, or is a derivative of such a loss, or of a function of such values. It "
                "has no derivative that follows from the vectors. Use a function of the whole "
                "matrix, as matrix_norm and matrix_exp are, or add a small matrix that tells the "
                "values apart."
            )


def eigh_backward(
    k: Any, grad_values: Any, grad_vectors: Any, A: Any, values: Any, vectors: Any, UPLO: str
) -> Any:
    """Return the gradient of ``A = V diag(L) V^H``: V (diag(gL) + skew(V^H gV) / 2 E) V^H, E having
    the differences of eigenvalues: where two are equal, that of eigenvectors does not exist.
    """
    if vectors.ndim < 2:  # they were not computed
        vectors, grad_vectors = k._linalg_eigh(A, UPLO)[1], None
    if grad_vectors is None and grad_values is None:
        return None
    if grad_vectors is None:
        return k.matmul(k.mul(vectors, k.unsqueeze(grad_values, -2)), mH(k, vectors))
    products = k.matmul(mH(k, vectors), grad_vectors)
    _check_phases(k, "linalg_eigh_backward", "eigenvectors", products)
    _check_single(k, "linalg_eigh_backward", values, (grad_vectors, False))
    skew = k.mul(_skew(k, products), 0.5)
    inner = _off_diagonal(k, k.div(skew, _differences(k, values)))
    if grad_values is not None:
        inner = k.add(inner, k.diag_embed(grad_values))
    return k.matmul(vectors, k.matmul(inner, mH(k, vectors)))


def _off_diagonal(k: Namespace, x: Any) -> Any:
    return k.sub(x, k.diag_embed(k.diagonal(x, 0, -2, -1)))


def eig_backward(
    k: Namespace,
    grad_values: TensorLike,
    grad_vectors: object,
    A: TensorLike,
    values: TensorLike,
    vectors: object,
) -> Any:
    """Return the gradient of ``A = V diag(L) V^-1`` for vectors of norm 1: V^-H (diag(gL) +
    (V^H gV - V^H V diag(Re(V^H gV))) / E^*) V^H, E having the differences of eigenvalues.
    """
    if vectors is None:
        values, vectors = k.linalg_eig(A)
    turned = mH(k, vectors)
    if grad_vectors is None:
        inner = k.mul(k.unsqueeze(grad_values, -1), turned)
    else:
        products = k.matmul(turned, grad_vectors)
        _check_phases(k, "linalg_eig_backward", "eigenvectors", products)
        _check_single(k, "linalg_eig_backward", values, (grad_vectors, False))
        along = k.unsqueeze(k.real(k.diagonal(products, 0, -2, -1)), -2)
        inner = k.sub(products, k.mul(k.matmul(turned, vectors), along))
        inner = _off_diagonal(k, k.div(inner, k.conj(_differences(k, values))))
        if grad_values is not None:
            inner = k.add(inner, k.diag_embed(grad_values))
        inner = k.matmul(inner, turned)
    made = k.linalg_solve_ex(turned, inner)[0]
    return made if is_complex(A) else k.real(made)


def svd_backward(
    k: Any,
    grad_U: Any,
    grad_S: Any,
    grad_Vh: Any,
    A: Any,
    u: Any,
    values: Any,
    vh: Any,
    full_matrices: bool,
) -> Any:
    """Return the gradient of ``A = U S V^H`` with respect to A.

    It is U ((skew(U^H gU) / E) S + S (skew(V^H gV) / E) + diag(gS)) V^H and, for matrices that are
    not square, what lies outside of the columns of U or V: (I - U U^H) gU S^-1 V^H and
    U S^-1 gV^H (I - V V^H). E has the differences of the squares of singular values: where two are
    equal, or one is zero, the gradient of vectors does not exist, that of values does.
    """
    least = values.shape[-1]
    if u.ndim < 2:  # they were not computed
        u, _, vh = k._linalg_svd(A, False)
        grad_U = grad_Vh = None
    elif full_matrices:
        u, vh = k.slice(u, -1, 0, least), k.slice(vh, -2, 0, least)
        grad_U = grad_U if grad_U is None else k.slice(grad_U, -1, 0, least)
        grad_Vh = grad_Vh if grad_Vh is None else k.slice(grad_Vh, -2, 0, least)
    if grad_U is None and grad_Vh is None and grad_S is None:
        return None
    if grad_U is None and grad_Vh is None:
        return k.matmul(k.mul(u, k.unsqueeze(grad_S, -2)), vh)
    rows, columns = A.shape[-2:]
    v, grad_V = mH(k, vh), None if grad_Vh is None else mH(k, grad_Vh)
    across, down = k.unsqueeze(values, -2), k.unsqueeze(values, -1)
    squares = _differences(k, k.mul(values, values))
    left = None if grad_U is None else k.matmul(mH(k, u), grad_U)
    right = None if grad_V is None else k.matmul(vh, grad_V)
    _check_phases(k, "svd_backward", "singular vectors", left, right)
    losses = [(g, n > least or is_complex(A)) for g, n in ((grad_U, rows), (grad_V, columns))]
    _check_single(k, "svd_backward", values, *losses)
    left = None if left is None else _skew(k, left)
    right = None if right is None else _skew(k, right)
    inner = k.mul(k.div(left, squares), across) if left is not None else None
    if right is not None:
        inner = added(k, inner, k.mul(k.div(right, squares), down))
    inner = _off_diagonal(k, inner)
    diagonal = grad_S
    if is_complex(A) and left is not None:
        turn = k.div(k.diagonal(left, 0, -2, -1), k.mul(values, 2))
        diagonal = added(k, diagonal, turn)
    if diagonal is not None:
        inner = k.add(inner, k.diag_embed(diagonal))
    made = k.matmul(u, k.matmul(inner, vh))
    if grad_U is not None and rows > least:
        scaled = k.div(grad_U, across)
        outside = k.sub(scaled, k.matmul(u, k.matmul(mH(k, u), scaled)))
        made = k.add(made, k.matmul(outside, vh))
    if grad_Vh is not None and columns > least:
        scaled = k.div(grad_Vh, down)
        outside = k.sub(scaled, k.matmul(k.matmul(scaled, v), vh))
        made = k.add(made, k.matmul(u, outside))
    return made


def matrix_exp_backward(k: Namespace, grad: TensorLike, A: TensorLike) -> Any:
    """Return the gradient of the matrix exponential: the upper right block of the exponential of
    A^H twice on the diagonal with `grad` above.
    """
    n = A.shape[-1]
    turned = mH(k, A)
    above = k.cat([turned, k.expand(grad, turned.shape)], -1)
    below = k.cat([k.zeros_like(turned), turned], -1)
    made = k.linalg_matrix_exp(k.cat([above, below], -2))
    return k.slice(k.slice(made, -2, 0, n), -1, n, 2 * n)
