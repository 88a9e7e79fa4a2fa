"""Linear algebra: products of the namespace, and the extension ``linalg``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_aten import linalg as of_aten
from dovetail_kernel import dtype as DType

from .data_types import check_kinds
from .elementwise import multiply
from .manipulation import axes_of, broadcast_shapes
from .promotion import UNSIGNED, by_standard, promoted, sum_dtype

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]

FLOATING = ("real floating", "complex floating")


class EighResult(NamedTuple):
    """Eigenvalues in ascending order, and eigenvectors by column."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class QRResult(NamedTuple):
    """Orthonormal columns, and a triangular matrix."""

    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    """The sign, or phase, of a determinant, and the logarithm of its size."""

    sign: Tensor
    logabsdet: Tensor


class SVDResult(NamedTuple):
    """Left singular vectors, singular values in descending order, and right singular vectors."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """Return the triangular factor of positive-definite matrices."""
    check_kinds("cholesky", FLOATING, x)
    return of_aten.cholesky(x, upper=upper)


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Return the cross products of vectors of three elements."""
    first, second = promoted(x1, x2)
    check_kinds("cross", "numeric", first)
    if -min(first.ndim, second.ndim) > axis or (axis >= 0 and first.ndim != second.ndim):
        raise ValueError("cross: axis has to be one that both arrays have, counted from the last.")
    if first.shape[axis] != 3 or second.shape[axis] != 3:
        raise ValueError("cross: the arrays must have 3 elements along the axis.")
    return of_aten.cross(*aten.broadcast_tensors([first, second]), dim=axis)


def det(x: Tensor, /) -> Tensor:
    """Return the determinants of matrices."""
    check_kinds("det", FLOATING, x)
    return of_aten.det(x)


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """Return diagonals of matrices."""
    return aten.diagonal(x, offset, -2, -1)


def eigh(x: Tensor, /) -> EighResult:
    """Return the eigenvalues and eigenvectors of Hermitian matrices."""
    check_kinds("eigh", FLOATING, x)
    return EighResult(*of_aten.eigh(x))


def eigvalsh(x: Tensor, /) -> Tensor:
    """Return the eigenvalues of Hermitian matrices."""
    check_kinds("eigvalsh", FLOATING, x)
    return of_aten.eigvalsh(x)


def inv(x: Tensor, /) -> Tensor:
    """Return the inverses of matrices."""
    check_kinds("inv", FLOATING, x)
    return of_aten.inv(x)


@by_standard()
def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Return the products of matrices, of matrices and vectors, or of two vectors."""
    check_kinds("matmul", "numeric", x1, x2)
    return aten.matmul(*promoted(x1, x2))


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """Return norms of matrices; ``None`` means ``'fro'``, the Frobenius norm."""
    check_kinds("matrix_norm", FLOATING, x)
    return of_aten.matrix_norm(x, "fro" if ord is None else ord, (-2, -1), keepdims)


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """Return powers of square matrices."""
    check_kinds("matrix_power", FLOATING, x)
    return of_aten.matrix_power(x, n)


def matrix_rank(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """Return the number of singular values greater than `rtol` times the greatest one."""
    check_kinds("matrix_rank", FLOATING, x)
    return of_aten.matrix_rank(x) if rtol is None else of_aten.matrix_rank(x, rtol=rtol)


def matrix_transpose(x: Tensor, /) -> Tensor:
    """Return matrices with rows and columns swapped."""
    if x.ndim < 2:
        raise ValueError("matrix_transpose is of arrays of at least 2 dimensions. Reshape it.")
    return aten.transpose(x, -2, -1)


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Return the products of all pairs of elements of two vectors."""
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError("outer is of two vectors. Reshape the arrays.")
    product: Tensor = multiply(x1.reshape(-1, 1), x2.reshape(1, -1))
    return product


def pinv(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """Return pseudoinverses of matrices."""
    check_kinds("pinv", FLOATING, x)
    return of_aten.pinv(x) if rtol is None else of_aten.pinv(x, rtol=rtol)


def qr(x: Tensor, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult:
    """Return orthonormal columns and a triangular matrix whose product is `x`."""
    check_kinds("qr", FLOATING, x)
    return QRResult(*of_aten.qr(x, mode))


def slogdet(x: Tensor, /) -> SlogdetResult:
    """Return the signs, or phases, of determinants, and the logarithms of their absolute values."""
    check_kinds("slogdet", FLOATING, x)
    return SlogdetResult(*of_aten.slogdet(x))


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Return the solutions of linear systems; a vector is one right-hand side."""
    first, second = promoted(x1, x2)
    check_kinds("solve", FLOATING, first)
    if second.ndim == 1:
        return of_aten.solve(first, second.unsqueeze(-1)).squeeze(-1)
    shape = broadcast_shapes(tuple(first.shape[:-2]), tuple(second.shape[:-2]))
    wide = [each.broadcast_to((*shape, *each.shape[-2:])) for each in (first, second)]
    return of_aten.solve(*wide)


def svd(x: Tensor, /, *, full_matrices: bool = True) -> SVDResult:
    """Return singular vectors and values."""
    check_kinds("svd", FLOATING, x)
    return SVDResult(*of_aten.svd(x, full_matrices))


def svdvals(x: Tensor, /) -> Tensor:
    """Return singular values in descending order."""
    check_kinds("svdvals", FLOATING, x)
    return of_aten.svdvals(x)


@by_standard()
def tensordot(x1: Tensor, x2: Tensor, /, *, axes: Any = 2) -> Tensor:
    """Return the sums of products over axes of two arrays."""
    check_kinds("tensordot", "numeric", x1, x2)
    first, second = promoted(x1, x2)
    if not isinstance(axes, int):
        axes = [list(axes_of(x, each)) for x, each in zip((first, second), axes, strict=True)]
    contract: Callable[..., Tensor] = aten.tensordot
    return contract(first, second, axes)


@by_standard("linalg.trace", dtypes=frozenset(UNSIGNED))
def trace(x: Tensor, /, *, offset: int = 0, dtype: DType | None = None) -> Tensor:
    """Return the sums of diagonals of matrices."""
    wanted = sum_dtype(x) if dtype is None else dtype
    return aten.sum(aten.diagonal(x, offset, -2, -1), -1, dtype=wanted)


@by_standard()
def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Return the inner products of vectors; the first vector is conjugated."""
    check_kinds("vecdot", "numeric", x1, x2)
    first, second = promoted(x1, x2)
    if axis >= 0 or axis < -min(first.ndim, second.ndim):
        raise ValueError("vecdot: axis has to be counted from the last, and both must have it.")
    if first.shape[axis] != second.shape[axis]:
        raise ValueError("vecdot: the arrays differ in size along the axis.")
    one, other = aten.broadcast_tensors([first, second])
    one = aten.conj_physical(one) if one.is_complex() else one
    return aten.sum(one * other, axis, dtype=first.dtype)


def vector_norm(
    x: Tensor, /, *, axis: object = None, keepdims: bool = False, ord: Any = 2
) -> Tensor:
    """Return norms of vectors along axes; None means all axes."""
    check_kinds("vector_norm", FLOATING, x)
    places = axes_of(x, axis)
    if not places:
        return aten.abs(x) if ord else (x != 0).to(aten.abs(x).dtype)
    return of_aten.vector_norm(x, ord, places, keepdims)
