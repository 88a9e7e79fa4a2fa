"""Inverses, determinants, solutions of systems of linear equations, and cross products."""

from __future__ import annotations

import math
from typing import Any

from dovetail_kernel import dtype as DType
from dovetail_kernel import finfo, int64

from ....kernel_support.dims import wrap_dim
from ....kernel_support.family import operator
from ....kernel_support.geometry.broadcasting import broadcast_shapes
from ....typing import Array
from .matrices import Matrices
from .matrix_checks import (
    check_inexact,
    check_same_dtype,
    check_solvable,
    check_square,
    is_vector_case,
    refuse_dtypes,
)

LSTSQ_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


class LinearSystems(Matrices):
    """Inverses, determinants, and solutions of linear equations."""

    @operator("linalg_inv_ex")
    def inv_ex(self, x: Array, *, check_errors: bool = False) -> tuple[Any, Any]:
        """Return the inverses, NaN for singular matrices, and the positions of zero pivots."""
        check_square("linalg.inv", x.shape)
        check_inexact("linalg.inv", self._dtype(x), halves=False)
        try:
            made, info = self._linalg("inv")(x), self._zeros(x.shape[:-2])
        except Exception as error:
            if not self._is_failure(error):
                raise
            info = self._zero_pivots(x)
            regular = self.xp.where((info == 0)[..., None, None], x, self._identity(x))
            made = self._or_nan(info, self.xp.linalg.inv(regular))
        if check_errors:
            self._check_infos("linalg.inv_ex", "inv", info)
        return made, info

    @operator("linalg_solve_ex")
    def solve_ex(
        self, a: Array, b: Array, *, left: bool = True, check_errors: bool = False
    ) -> tuple[Any, Any]:
        """Return the solutions of ``A X = B``, NaN for singular matrices, and which matrices are
        singular.
        """
        check_square("linalg.solve", a.shape)
        check_inexact("linalg.solve", self._dtype(a))
        check_same_dtype("linalg.solve", self._dtype(a), self._dtype(b))
        is_vector = is_vector_case(a.shape, b.shape)
        right = b[..., None] if is_vector else b
        check_vector_left(is_vector, left)
        batch = check_solvable("linalg.solve", a.shape, right.shape, left)
        refuse_dtypes("lu_cpu", self._dtype(a))
        right = self.capabilities.expand(right, (*batch, *right.shape[-2:]))
        matrix = a if left else a.swapaxes(-2, -1)
        sides = right if left else right.swapaxes(-2, -1)
        try:
            made, info = self._linalg("solve")(matrix, sides), self._zeros(a.shape[:-2])
        except Exception as error:
            if not self._is_failure(error):
                raise
            info = self._zero_pivots(a)
            regular = self.xp.where((info == 0)[..., None, None], matrix, self._identity(a))
            made = self._or_nan(info, self.xp.linalg.solve(regular, sides))
        if check_errors:
            self._check_infos("torch.linalg.solve_ex", "solve", info)
        made = made if left else made.swapaxes(-2, -1)
        return made[..., 0] if is_vector else made, info

    def _zero_pivots(self, x: Array) -> Any:
        """Return the place of the first zero on the diagonal of the triangular factor of each
        matrix, counted from 1; 0 where there is none.
        """
        info = self.table.kernels["linalg_lu_factor_ex"].fn(x)[2]
        determinant = self.xp.linalg.det(x)
        # A library that factors in another order may find a zero where this one finds none.
        return self.xp.where((info == 0) & (determinant == 0), info + x.shape[-1], info)

    def _identity(self, x: Array) -> Any:
        return self._eye(x.shape[-1], x.shape[-1], x.dtype)

    def _or_nan(self, info: Any, made: Any) -> Any:
        """Return results, NaN where a matrix has none."""
        return self.xp.where((info == 0)[..., None, None], made, self.numbers.like(made, math.nan))

    @operator("linalg_solve_triangular")
    def solve_triangular(
        self, a: Array, b: Array, *, upper: bool, left: bool = True, unitriangular: bool = False
    ) -> Any:
        """Return the solutions of ``A X = B`` for triangular matrices; for a singular matrix, it is
        infinite or NaN.
        """
        name = "linalg.solve_triangular"
        check_square(name, a.shape)
        check_same_dtype(name, self._dtype(a), self._dtype(b))
        batch = check_solvable(name, a.shape, b.shape, left)
        refuse_dtypes("triangular_solve_cpu", self._dtype(a))
        matrix, right = [
            x if x.shape[:-2] == batch else self.capabilities.expand(x, (*batch, *x.shape[-2:]))
            for x in (a, b)
        ]
        if not right.size:
            return self._zeros(right.shape, self._dtype(b))
        trsm = self._blas("trsm", "linalg_solve_triangular", a, b)

        options = {"side": not left, "lower": not upper, "diag": unitriangular}

        def solve(one: Array, side: Array) -> tuple[Any]:
            return (trsm(1.0, one, side, **options),)

        return self._one_by_one(solve, batch, matrix, right)[0]

    @operator("linalg_det")
    def det(self, x: Array) -> Any:
        """Return the determinants."""
        check_square("linalg.det", x.shape)
        check_inexact("linalg.det", self._dtype(x))
        refuse_dtypes("lu_cpu", self._dtype(x))
        return self.xp.asarray(self.xp.linalg.det(x))

    @operator("linalg_slogdet")
    def slogdet(self, x: Array) -> tuple[Any, Any]:
        """Return the signs and the logarithms of the absolute values of the determinants."""
        check_square("linalg.slogdet", x.shape)
        check_inexact("linalg.slogdet", self._dtype(x), halves=False)
        sign, logarithm = self.xp.linalg.slogdet(x)
        return self.xp.asarray(sign), self.xp.asarray(logarithm)

    @operator("linalg_lstsq")
    def lstsq(
        self, a: Array, b: Array, rcond: float | None = None, *, driver: str | None = None
    ) -> tuple[Any, Any, Any, Any]:
        """Return the least-squares solutions of least norm, the sums of squared residuals, the rank
        and the singular values, from a singular value decomposition.
        """
        xp, own = self.xp, self._dtype(a)
        is_vector = check_lstsq(a, b, own, self._dtype(b), driver)
        right = b[..., None] if is_vector else b
        batch = broadcast_shapes([a.shape[:-2], right.shape[:-2]])
        rows, columns = a.shape[-2:]
        u, values, vh = xp.linalg.svd(a, full_matrices=False)
        limit = rcond
        if driver == "gels":  # takes every matrix for one of full rank
            limit = None
        elif rcond is not None and (
            (driver == "gelss" and rcond < 0) or (driver == "gelsd" and not 0 < rcond < 1)
        ):  # as LAPACK
            limit = finfo(self._dtype(a)).eps
        rank, inverted = self._rank_and_inverses(values, rows, columns, limit)
        made = self._adjoint(vh) @ (inverted[..., None] * (self._adjoint(u) @ right))
        made = self.capabilities.expand(made, (*batch, *made.shape[-2:]))
        if rows > columns:  # PyTorch's lie in memory of the size of `b`
            gap = xp.zeros((*made.shape[:-2], rows - columns, made.shape[-1]), dtype=made.dtype)
            made = xp.concatenate((made, gap), axis=-2)
        made = self.capabilities.contiguous(made.swapaxes(-2, -1))[..., :columns]
        made = made.swapaxes(-2, -1)
        residuals = xp.zeros((0,), dtype=values.dtype)
        chosen = driver or "gelsy"
        if rows > columns and (
            chosen == "gels" or (chosen != "gelsy" and bool(xp.all(rank == columns)))
        ):
            left_over = xp.absolute(a @ made - right)
            residuals = xp.sum(left_over * left_over, axis=-2)
        with_values = driver in ("gelsd", "gelss")
        no_rank = xp.zeros((0,), dtype=self.native_dtypes[int64])
        return (
            made[..., 0] if is_vector else made,
            residuals,
            no_rank if driver == "gels" else rank,
            self.ordered(values) if with_values else xp.zeros((0,), dtype=values.dtype),
        )

    def _rank_and_inverses(
        self, values: Array, rows: int, columns: int, rcond: float | None
    ) -> tuple[Any, Any]:
        """Return how many singular values count, and their inverses, 0 for those that do not."""
        xp = self.xp
        whole = self.native_dtypes[int64]
        if not values.shape[-1]:
            return xp.zeros(values.shape[:-1], dtype=whole), values
        if rcond is None:
            rcond = finfo(self._dtype(values)).eps * max(rows, columns)
        least = values[..., :1] * self.numbers.like(values, rcond)
        counts = values > least
        one, zero = self.numbers.like(values, 1), self.numbers.like(values, 0)
        inverted = xp.where(counts, one / xp.where(counts, values, one), zero)
        return self.ordered(xp.sum(counts, axis=-1, dtype=whole)), inverted

    @operator("linalg_cross")
    def cross(self, x: Any, other: Any, *, dim: int = -1) -> Any:
        """Return the cross products of vectors of three elements along `dim`."""
        check_cross(x, other, dim, self._dtype(x), self._dtype(other))
        if x.shape != other.shape:
            broadcast_shapes([x.shape, other.shape])  # raises PyTorch's error
        axis = wrap_dim(dim, x.ndim)

        def turned(array: Any) -> tuple[Any, Any]:
            """Return the elements 1, 2, 0 of each vector, and the elements 2, 0, 1."""
            twice, lead = self.xp.concatenate([array, array], axis=axis), (slice(None),) * axis
            return twice[(*lead, slice(1, 4))], twice[(*lead, slice(2, 5))]

        (left, left_after), (right, right_after) = turned(x), turned(other)
        return self.ordered(left * right_after - left_after * right)


def check_vector_left(is_vector: bool, left: bool) -> None:
    """Raise an error for ``X A = B`` for a vector B."""
    if is_vector and not left:
        raise RuntimeError(
            "linalg.solve: Vector broadcasting of the left hand side is not supported for "
            "left=False. In this case linalg.solve is equivalent to B / A.squeeze(-1)"
        )


def check_cross(x: Any, other: Any, dim: int, own: DType, right: DType) -> None:
    """Raise an error for vectors without a cross product."""
    if x.ndim != other.ndim:
        raise RuntimeError(
            "linalg.cross: inputs must have the same number of dimensions. Use unsqueeze."
        )
    sizes = [each.shape[wrap_dim(dim, each.ndim)] if each.ndim else 1 for each in (x, other)]
    if sizes != [3, 3]:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {sizes[0]} and "
            f"{sizes[1]}. Name another dim."
        )
    if own is not right:
        raise RuntimeError(
            f"expected scalar type {own.scalar_name} but found {right.scalar_name}. Convert one "
            "of them."
        )
    if own.scalar_name == "Bool":
        raise NotImplementedError(
            "\"cross\" not implemented for 'Bool'. Convert to a number dtype."
        )


def check_lstsq(a: Array, b: Array, own: DType, right: DType, driver: str | None) -> bool:
    """Raise an error for a system that lstsq does not support; return whether its right-hand side
    is a vector.
    """
    name = "torch.linalg.lstsq"
    if a.ndim < 2 or b.ndim < 1:
        what = (
            "input must have at least 2 dimensions"
            if a.ndim < 2
            else ("other must have at least 1 dimension")
        )
        raise RuntimeError(f"{name}: {what}. Use unsqueeze.")
    if own is not right:
        raise RuntimeError(
            f"{name}: Expected input and other to have the same dtype, but got input's dtype "
            f"{own.scalar_name} and other's dtype {right.scalar_name}. Convert one of them."
        )
    if own.scalar_name not in ("Float", "Double", "ComplexFloat", "ComplexDouble"):
        raise RuntimeError(
            "This function doesn't handle types other than float and double. Convert both."
        )
    difference = a.ndim - b.ndim
    if not 0 <= difference <= 1:
        raise RuntimeError(
            f"{name}: input.dim() must be greater or equal to other.dim() and (input.dim() - "
            "other.dim()) <= 1. Use unsqueeze."
        )
    is_vector = difference == 1 and tuple(b.shape) == tuple(a.shape[:-1])
    if difference == 1 and not is_vector and b.ndim < 2:
        is_vector = True
    rows = b.shape[-1] if is_vector else b.shape[-2]
    if rows != a.shape[-2]:
        which = "other.size(-1)" if is_vector else "other.size(-2)"
        raise RuntimeError(f"{name}: input.size(-2) should match {which}. Transpose one of them.")
    if driver is not None and driver not in LSTSQ_DRIVERS:
        raise RuntimeError(
            f"{name}: parameter `driver` should be one of ({', '.join(LSTSQ_DRIVERS)})."
        )
    return is_vector
