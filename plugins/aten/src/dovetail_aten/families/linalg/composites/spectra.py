"""Eigenvalues and singular values in terms of others."""

from __future__ import annotations

from typing import Any

from dovetail_aten._generated import functions as F

from ....typing import Tensor

linalg_eigh = F._linalg_eigh
linalg_svd = F._linalg_svd
matrix_exp = F.linalg_matrix_exp


def linalg_eigvalsh(self: Tensor, UPLO: str = "L") -> Any:
    """Return the eigenvalues of symmetric or Hermitian matrices."""
    return F._linalg_eigh(self, UPLO, False)[0]


def linalg_svdvals(A: Tensor, *, driver: str | None = None) -> Any:
    """Return the singular values."""
    return F._linalg_svd(A, False, False, driver=driver)[1]


def lyapunov(H: Tensor, R: Tensor) -> Any:
    """Return the solution of ``H X + X H = R`` for the Hermitian part of `H`: between its
    eigenvectors ``R_ij`` is divided by the sum of two eigenvalues.
    """
    values, vectors = F._linalg_eigh(F.mul(F.add(H, F.mH(H)), 0.5))
    turned = F.mH(vectors)
    sums = F.add(F.unsqueeze(values, -1), F.unsqueeze(values, -2))
    inner = F.div(F.matmul(F.matmul(turned, R), vectors), sums)
    return F.matmul(F.matmul(vectors, inner), turned)


def svd(self: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """Return U, S and V of ``self = U diag(S) V^H``; without `compute_uv`, zeros for U and V."""
    if self.ndim < 2:
        raise RuntimeError(
            f"linalg.svd: input should have at least 2 dimensions, but has {self.ndim} dimensions "
            "instead. Use unsqueeze."
        )
    if not compute_uv:
        values = F.linalg_svdvals(self)
        *batch, rows, columns = self.shape
        return (
            F.new_zeros(self, (*batch, rows, rows)),
            values,
            F.transpose(F.new_zeros(self, (*batch, columns, columns)), -2, -1),
        )
    u, values, vh = F._linalg_svd(self, not some)
    return u, values, F.conj(F.transpose(vh, -2, -1))
