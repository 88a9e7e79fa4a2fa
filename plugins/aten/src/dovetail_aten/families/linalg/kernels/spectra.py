"""Eigenvalues, singular values, and the matrix exponential."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_kernel import complex64, complex128, dtype, float32, float64
from dovetail_kernel import dtype as DType
from dovetail_kernel.types import FLOAT

from ....kernel_support.family import operator, widened
from ....typing import Array
from .matrices import Matrices
from .matrix_checks import check_inexact, check_matrix, check_square, refuse_dtypes


class Spectra(Matrices):
    """Eigenvalues and singular values with their vectors, and functions of matrices."""

    @operator("_linalg_eigh")
    def eigh(self, x: Array, UPLO: str = "L", compute_v: bool = True) -> tuple[Any, Any]:
        """Return the eigenvalues of symmetric or Hermitian matrices, ascending, and eigenvectors as
        columns, of which one triangle is read.
        """
        check_square("linalg.eigh", x.shape)
        triangle = check_triangle(UPLO)
        refuse_dtypes("linalg_eigh_cpu", self._dtype(x))
        if not compute_v:
            eigvalsh = self._linalg("eigvalsh")
            values = self._or_failure("linalg.eigh", "eigen", eigvalsh, x, triangle)
            return values, self.xp.zeros((0,), dtype=x.dtype)
        eigh = self._linalg("eigh")
        values, vectors = self._or_failure("linalg.eigh", "eigen", eigh, x, triangle)
        return values, vectors

    @operator("linalg_eig")
    def eig(self, x: Array) -> tuple[Any, Any]:
        """Return the complex eigenvalues and eigenvectors, as columns, of square matrices."""
        self._check_eig("linalg.eig", x)
        values, vectors = self._or_failure("linalg.eig", "eigen", self._linalg("eig"), x)
        wanted = self._complex(x)
        return values.astype(wanted, copy=False), vectors.astype(wanted, copy=False)

    @operator("linalg_eigvals")
    def eigvals(self, x: Array) -> Any:
        """Return the complex eigenvalues of square matrices."""
        self._check_eig("linalg.eigvals", x)
        values = self._or_failure("linalg.eigvals", "eigen", self._linalg("eigvals"), x)
        return values.astype(self._complex(x), copy=False)

    def _check_eig(self, name: str, x: Array) -> None:
        """Raise an error for an array without eigenvalues."""
        check_eig(name, x.shape, self._dtype(x))
        if not self.lazy and not self._are_finite(x):
            raise RuntimeError(
                "torch.linalg.eig: input tensor should not contain infs or NaNs. Replace them "
                "with nan_to_num."
            )

    def _complex(self, x: Array) -> Any:
        """Return the native complex dtype of the precision of an array."""
        is_single = self._dtype(x).to_real() is float32
        return self.native_dtypes[complex64 if is_single else complex128]

    @operator("_linalg_svd")
    def svd(
        self,
        x: Array,
        full_matrices: bool = False,
        compute_uv: bool = True,
        *,
        driver: str | None = None,
    ) -> tuple[Any, Any, Any]:
        """Return the left singular vectors as columns, the singular values, descending, and the
        right singular vectors as rows.
        """
        check_svd(x.shape, self._dtype(x), driver)
        refuse_dtypes("linalg_svd_cpu", self._dtype(x))
        svd = self._linalg("svd")
        if not compute_uv:
            values = self._or_failure("linalg.svd", "svd", svd, x, compute_uv=False)
            left, right = (self.xp.zeros((0,), dtype=x.dtype) for _ in range(2))
            return left, values, right
        u, values, vh = self._or_failure("linalg.svd", "svd", svd, x, full_matrices=full_matrices)
        return u, values, vh

    @operator("linalg_matrix_exp")
    @widened
    def matrix_exp(self, x: Array) -> Any:
        """Return the matrix exponentials, the sums of ``x**k / k!``."""
        check_square("linalg.matrix_exp", x.shape)
        check_inexact("linalg.matrix_exp", self._dtype(x))
        if not x.size:
            return x.copy()
        # Squaring a power many times loses digits, which single precision has not to spare.
        double = complex128 if x.dtype in self.precision.complex else float64
        wide = x.astype(self.native_dtypes[double], copy=False)
        made = self.scipy("linalg.expm", "linalg_matrix_exp")(wide)
        return made.astype(x.dtype, copy=False)


def check_triangle(UPLO: str) -> str:
    """Return which triangle is read, ``"L"`` or ``"U"``; refuse any other."""
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return UPLO.upper()


def check_eig(name: str, shape: Sequence[int], own: dtype) -> None:
    """Raise an error for an array without eigenvalues; for integers with the message of the
    function that determines their complex dtype.
    """
    check_square(name, shape)
    if own.category < FLOAT:
        raise RuntimeError(f"Unknown Complex ScalarType for {own.scalar_name}. Convert to a float.")
    refuse_dtypes("linalg_eig_out_cpu", own)


def check_svd(shape: Sequence[int], own: DType, driver: str | None) -> None:
    """Raise an error for an array without singular values, and for a driver, an option of
    cuSOLVER.
    """
    check_matrix("linalg.svd", shape)
    check_inexact("linalg.svd", own)
    if driver is not None:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with "
            "cuSOLVER backend. Leave it out."
        )
