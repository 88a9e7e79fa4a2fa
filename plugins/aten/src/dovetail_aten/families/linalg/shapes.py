"""Factorizations, solutions and spectra of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_kernel import complex64, complex128, float32, int32

from ...kernel_support.geometry.broadcasting import broadcast_shapes
from ...meta.meta_array import MetaArray
from ...meta.table import like
from .kernels.factorizations import check_ldl_solve, check_qr_mode
from .kernels.linear_systems import check_cross, check_vector_left
from .kernels.matrix_checks import (
    check_factored,
    check_inexact,
    check_matrix,
    check_same_dtype,
    check_solvable,
    check_square,
    is_vector_case,
    refuse_dtypes,
)
from .kernels.spectra import check_eig, check_svd, check_triangle


def _infos(self: MetaArray) -> MetaArray:
    """Return one int32 for every matrix."""
    return MetaArray(self.shape[:-2], int32)


def _real(self: MetaArray, shape: Sequence[int]) -> MetaArray:
    return MetaArray(shape, self.dtype.to_real())


def check_errors(info: MetaArray, api_name: str, *, is_matrix: bool) -> None:
    """Do nothing: there are no values to look at."""


def cholesky_ex(
    self: MetaArray, *, upper: bool = False, check_errors: bool = False
) -> tuple[MetaArray, MetaArray]:
    check_square("linalg.cholesky", self.shape)
    check_inexact("linalg.cholesky", self.dtype)
    refuse_dtypes("cholesky_cpu", self.dtype)
    return like(self), _infos(self)


def lu_factor_ex(
    A: MetaArray, *, pivot: bool = True, check_errors: bool = False
) -> tuple[MetaArray, MetaArray, MetaArray]:
    check_factored(A.shape)
    refuse_dtypes("lu_cpu", A.dtype)
    return like(A), MetaArray((*A.shape[:-2], min(A.shape[-2:])), int32), _infos(A)


def lu_unpack(
    LU_data: MetaArray, LU_pivots: MetaArray, unpack_data: bool = True, unpack_pivots: bool = True
) -> tuple[MetaArray, MetaArray, MetaArray]:
    check_matrix("torch.lu_unpack", LU_data.shape, "LU_data")
    *batch, rows, columns = LU_data.shape
    least = min(rows, columns)
    nothing = (0,)
    return (
        like(LU_data, (*batch, rows, rows) if unpack_pivots else nothing),
        like(LU_data, (*batch, rows, least) if unpack_data else nothing),
        like(LU_data, (*batch, least, columns) if unpack_data else nothing),
    )


def ldl_factor_ex(
    self: MetaArray, *, hermitian: bool = False, check_errors: bool = False
) -> tuple[MetaArray, MetaArray, MetaArray]:
    check_square("torch.linalg.ldl_factor_ex", self.shape)
    check_inexact("torch.linalg.ldl_factor_ex", self.dtype)
    return like(self), MetaArray(self.shape[:-1], int32), _infos(self)


def ldl_solve(
    LD: MetaArray, pivots: MetaArray, B: MetaArray, *, hermitian: bool = False
) -> MetaArray:
    check_ldl_solve(LD, pivots, B, LD.dtype, pivots.dtype, B.dtype)
    batch = broadcast_shapes([LD.shape[:-2], B.shape[:-2]])
    return like(B, (*batch, *B.shape[-2:]))


def qr(A: MetaArray, mode: str = "reduced") -> tuple[MetaArray, MetaArray]:
    check_matrix("linalg.qr", A.shape)
    check_inexact("linalg.qr", A.dtype)
    check_qr_mode(mode)
    *batch, rows, columns = A.shape
    inner = rows if mode == "complete" else min(rows, columns)
    q = (0,) if mode == "r" else (*batch, rows, inner)
    return like(A, q), like(A, (*batch, inner, columns))


def geqrf(self: MetaArray) -> tuple[MetaArray, MetaArray]:
    check_matrix("torch.geqrf", self.shape)
    refuse_dtypes("geqrf_cpu", self.dtype)
    return like(self), like(self, (*self.shape[:-2], min(self.shape[-2:])))


def inv_ex(A: MetaArray, *, check_errors: bool = False) -> tuple[MetaArray, MetaArray]:
    check_square("linalg.inv", A.shape)
    check_inexact("linalg.inv", A.dtype, halves=False)
    return like(A), _infos(A)


def solve_ex(
    A: MetaArray, B: MetaArray, *, left: bool = True, check_errors: bool = False
) -> tuple[MetaArray, MetaArray]:
    check_square("linalg.solve", A.shape)
    check_inexact("linalg.solve", A.dtype)
    check_same_dtype("linalg.solve", A.dtype, B.dtype)
    is_vector = is_vector_case(A.shape, B.shape)
    check_vector_left(is_vector, left)
    right = (*B.shape, 1) if is_vector else B.shape
    batch = check_solvable("linalg.solve", A.shape, right, left)
    made = (*batch, right[-2]) if is_vector else (*batch, *right[-2:])
    return like(B, made), _infos(A)


def solve_triangular(
    self: MetaArray, B: MetaArray, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> MetaArray:
    check_square("linalg.solve_triangular", self.shape)
    check_same_dtype("linalg.solve_triangular", self.dtype, B.dtype)
    batch = check_solvable("linalg.solve_triangular", self.shape, B.shape, left)
    refuse_dtypes("triangular_solve_cpu", self.dtype)
    return like(B, (*batch, *B.shape[-2:]))


def determinant(A: MetaArray) -> MetaArray:
    check_square("linalg.det", A.shape)
    check_inexact("linalg.det", A.dtype)
    refuse_dtypes("lu_cpu", A.dtype)
    return like(A, A.shape[:-2])


def slogdet(A: MetaArray) -> tuple[MetaArray, MetaArray]:
    check_square("linalg.slogdet", A.shape)
    check_inexact("linalg.slogdet", A.dtype, halves=False)
    return like(A, A.shape[:-2]), _real(A, A.shape[:-2])


def cross(self: MetaArray, other: MetaArray, *, dim: int = -1) -> MetaArray:
    check_cross(self, other, dim, self.dtype, other.dtype)
    return like(self, broadcast_shapes([self.shape, other.shape]))


def eigh(A: MetaArray, UPLO: str = "L", compute_v: bool = True) -> tuple[MetaArray, MetaArray]:
    check_square("linalg.eigh", A.shape)
    check_triangle(UPLO)
    refuse_dtypes("linalg_eigh_cpu", A.dtype)
    return _real(A, A.shape[:-1]), like(A) if compute_v else like(A, (0,))


def _complex(self: MetaArray, name: str) -> Any:
    """Return the complex dtype of the precision of a square matrix."""
    check_eig(name, self.shape, self.dtype)
    return complex64 if self.dtype.to_real() is float32 else complex128


def eig(self: MetaArray) -> tuple[MetaArray, MetaArray]:
    wanted = _complex(self, "linalg.eig")
    return like(self, self.shape[:-1], wanted), like(self, None, wanted)


def eigvals(self: MetaArray) -> MetaArray:
    return like(self, self.shape[:-1], _complex(self, "linalg.eigvals"))


def svd(
    A: MetaArray, full_matrices: bool = False, compute_uv: bool = True, *, driver: str | None = None
) -> tuple[MetaArray, MetaArray, MetaArray]:
    check_svd(A.shape, A.dtype, driver)
    refuse_dtypes("linalg_svd_cpu", A.dtype)
    *batch, rows, columns = A.shape
    least = min(rows, columns)
    values = _real(A, (*batch, least))
    if not compute_uv:
        return like(A, (0,)), values, like(A, (0,))
    left, right = (rows, columns) if full_matrices else (least, least)
    return like(A, (*batch, rows, left)), values, like(A, (*batch, right, columns))


def matrix_exp(self: MetaArray) -> MetaArray:
    check_square("linalg.matrix_exp", self.shape)
    check_inexact("linalg.matrix_exp", self.dtype)
    return like(self)


def pinv(
    self: MetaArray,
    *,
    atol: MetaArray | None = None,
    rtol: MetaArray | None = None,
    hermitian: bool = False,
) -> MetaArray:
    check_matrix("linalg.pinv", self.shape)
    return like(self, (*self.shape[:-2], self.shape[-1], self.shape[-2]))
