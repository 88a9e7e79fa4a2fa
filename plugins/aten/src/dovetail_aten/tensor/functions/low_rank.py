"""Factorizations as functions of Python: LU as old programs call it, and approximate singular
values by random projections.
"""

from __future__ import annotations

from typing import Any

from dovetail_dispatcher import overridable

from ..._generated import functions as aten
from ...typing import Tensor, TensorLike
from ..creation.random_factories import randn


@overridable
def lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """Return the LU factorization of matrices: both factors in one matrix, and pivots.

    Parameters
    ----------
    A
        Matrices of shape ``(*, m, n)``.
    pivot
        Whether to exchange rows; must be True on the CPU.
    get_infos
        Also return LAPACK's int32 error code of each matrix, and do not raise for a singular one.
        Default: False.
    out
        A tuple of tensors to write the results into.

    Returns
    -------
    tuple
        ``(LU, pivots)`` or ``(LU, pivots, infos)``, for `lu_unpack` and `lu_solve`.
    """
    made = aten._lu_with_info(A, pivot, not get_infos)
    if out is not None:
        for each, result in zip(out, made, strict=False):
            aten.resize_(each, tuple(result.shape))
            aten.copy_(each, result)
        return out
    return made if get_infos else tuple(made[:2])


def _adjoint(x: Any) -> Any:
    return aten.conj(aten.transpose(x, -2, -1))


def _basis(A: Tensor, q: int, niter: int, M: Any) -> Any:
    """Return an orthonormal basis of about the range of ``A - M``, of `q` columns."""

    def times(x: Tensor, *, turned: bool = False) -> Any:
        matrix = _adjoint(A) if turned else A
        made = aten.matmul(matrix, x)
        if M is None:
            return made
        return aten.sub(made, aten.matmul(_adjoint(M) if turned else M, x))

    made = times(randn(A.shape[-1], q, dtype=A.dtype, device=A.device))
    basis = aten.linalg_qr(made)[0]
    for _ in range(niter):
        basis = aten.linalg_qr(times(basis, turned=True))[0]
        basis = aten.linalg_qr(times(basis))[0]
    return basis


@overridable
def svd_lowrank(A: TensorLike, q: int | None = 6, niter: int | None = 2, M: Any = None) -> Any:
    """Return approximations of the greatest singular values of matrices and their vectors, by
    random projections: ``A - M`` is approximately ``U diag(S) V^H``.

    Parameters
    ----------
    A
        Matrices of shape ``(*, m, n)``.
    q
        Number of singular values to compute, slightly more than the rank of `A`. Default: 6.
    niter
        Number of power iterations, which improve the accuracy. Default: 2.
    M
        Matrices to subtract, which broadcast to the shape of `A`. Default: none.

    Returns
    -------
    tuple
        U of shape ``(*, m, q)``, S of ``(*, q)`` and V of ``(*, n, q)``.

    Notes
    -----
    Nathan Halko, Per-Gunnar Martinsson and Joel Tropp, *Finding structure with randomness*, 2009.
    """
    q, niter = 6 if q is None else q, 2 if niter is None else niter
    rows, columns = A.shape[-2:]
    M = None if M is None else aten.broadcast_to(M, tuple(A.shape))
    if rows < columns:
        turned = None if M is None else _adjoint(M)
        v, values, u = _svd_of_tall(_adjoint(A), q, niter, turned)
        return u, values, v
    return _svd_of_tall(A, q, niter, M)


def _svd_of_tall(A: Any, q: int, niter: int, M: Any) -> Any:
    """Return U, S and V of matrices that have no more columns than rows."""
    basis = _basis(A, q, niter, M)
    turned = _adjoint(basis)
    inner = aten.matmul(turned, A if M is None else aten.sub(A, M))
    u, values, vh = aten.linalg_svd(inner, False)
    return aten.matmul(basis, u), values, _adjoint(vh)


@overridable
def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> Any:
    """Return approximate principal components of the observations in the rows of matrices, by
    random projections.

    Parameters
    ----------
    A
        Matrices of shape ``(*, m, n)``.
    q
        Number of components. Default: 6, or fewer for a smaller matrix.
    center
        Subtract the mean of every column first. Default: True.
    niter
        Number of power iterations, which improve the accuracy. Default: 2.

    Returns
    -------
    tuple
        U of shape ``(*, m, q)``, S of ``(*, q)`` and V of ``(*, n, q)``, whose columns are the
        principal directions.

    Raises
    ------
    ValueError
        If `q` or `niter` is out of range.
    """
    least = min(A.shape[-2:])
    q = min(6, least) if q is None else q
    if not 0 <= q <= least:
        raise ValueError(
            f"q(={q}) must be non-negative integer and not greater than min(m, n)={least}"
        )
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if center:
        A = aten.sub(A, aten.mean(A, (-2,), True))
    return svd_lowrank(A, q, niter)
