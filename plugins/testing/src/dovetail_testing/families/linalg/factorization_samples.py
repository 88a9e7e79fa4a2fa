"""Samples of factorizations, and of what is solved with them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from dovetail_dispatcher.testing import SampleInput, TensorMaker
from dovetail_kernel import int32, int64

from ..makers import op_info, refusals
from .makers import (
    BATCHES,
    LAPACK,
    ONE_TRIANGLE,
    SINGULAR,
    definite,
    generic,
    leaf,
    no_matrix,
    no_square,
    rectangles,
    regular,
    sized,
    squares,
    triangular,
)

info = partial(op_info, family="linalg", dtypes=LAPACK)


def cholesky(x: np.ndarray, upper: bool = False) -> Any:
    lower = np.linalg.cholesky(x.swapaxes(-2, -1).conj() if upper else x)
    return lower.swapaxes(-2, -1).conj() if upper else lower


def lu(x: np.ndarray) -> Any:
    if x.size:
        factors: tuple[Any, ...] = import_module("scipy.linalg").lu(x)
        return factors
    rows, columns = x.shape[-2:]
    return (
        np.eye(rows, dtype=x.dtype),
        np.zeros((rows, 0), x.dtype),
        np.zeros((0, columns), x.dtype),
    )


def with_infos(function: Any) -> Any:
    """Return the reference of an operator that also returns zeros, one for each matrix."""

    def reference(x: Any, **options: Any) -> Any:
        options.pop("check_errors", None)
        found = function(x, **options)
        found = found if isinstance(found, tuple) else (found,)
        return (*found, np.zeros(x.shape[:-2], np.int32))

    return reference


def factors(make: TensorMaker, *shape: int) -> tuple[Any, Any]:
    """Return the LU factors of matrices, and pivots."""
    from dovetail_aten._generated import functions as F

    x = regular(make, *shape[:-2], n=shape[-1]) if shape[-1] == shape[-2] else generic(make, *shape)
    lu, pivots, _ = F.linalg_lu_factor_ex(x.detach())
    return leaf(make, lu), pivots


def lu_data(make: TensorMaker) -> Iterator[SampleInput]:
    if make.dtype not in LAPACK:
        yield SampleInput(make(3, 3), make.values([1, 2, 3], int64))
        return
    for shape in ((2, 2), (2, 2, 2), (3, 2), (2, 3)):
        yield SampleInput(*factors(make, *shape))
    yield SampleInput(*factors(make, 3, 3), unpack_pivots=False)


def lu_systems(make: TensorMaker) -> Iterator[SampleInput]:
    if make.dtype not in LAPACK:
        pivots = make.values([1, 2, 3], int32)
        yield SampleInput(make(3, 3), pivots, make(3, 2))
        return
    n = sized(make, None)
    for batch in ((),) if make.requires_grad else ((), (2,)):
        for left in (True, False):
            for adjoint in (False, True):
                side = make((*batch, n, 1) if left else (*batch, 1, n))
                lu, pivots = factors(make, *batch, n, n)
                yield SampleInput(lu, pivots, side, left=left, adjoint=adjoint)


def old_lu_systems(make: TensorMaker) -> Iterator[SampleInput]:
    for sample in lu_systems(make):
        if sample.kwargs in ({}, {"left": True, "adjoint": False}):
            lu, pivots, side = sample.arguments
            yield SampleInput(side, lu, pivots)


def ldl_systems(make: TensorMaker) -> Iterator[SampleInput]:
    from dovetail_aten._generated import functions as F

    if make.dtype not in LAPACK:
        yield SampleInput(make(3, 3), make.values([1, 2, 3], int32), make(3, 2))
        return
    for batch in ((), (2,)):
        ld, pivots, _ = F.linalg_ldl_factor_ex(definite(make, *batch).detach())
        n = sized(make, None)
        yield SampleInput(ld, pivots, make((*batch, n, 2)))
        yield SampleInput(ld, pivots, make(n, 2))


def old_systems(make: TensorMaker) -> Iterator[SampleInput]:
    n = sized(make, None)
    for batch in ((),) if make.requires_grad else ((), (2,), (0,)):
        for upper in (False, True):
            side = make((*batch, n, 2))
            yield SampleInput(side, triangular(make, *batch, upper=upper), upper=upper)


def triangular_solve(
    x: np.ndarray, a: np.ndarray, upper: bool = True, transpose: bool = False
) -> Any:
    return np.linalg.solve(a.swapaxes(-2, -1) if transpose else a, x), a


def triangular_systems(make: TensorMaker) -> Iterator[SampleInput]:
    n = sized(make, None)
    for upper in (True, False):
        for transpose in (False, True):
            a = triangular(make, upper=upper)
            yield SampleInput(make(n, 1), a, upper=upper, transpose=transpose)
    yield SampleInput(make(2, n, 1), triangular(make, 2, upper=True))


def reflections(make: TensorMaker) -> Iterator[SampleInput]:
    small = (((3, 2), 2), ((2, 2), 1))
    large = (((4, 3), 3), ((2, 4, 3), 3), ((4, 3), 2), ((3, 3), 3), ((2, 0, 0), 0))
    for shape, count in small if make.requires_grad else large:
        yield SampleInput(make(shape), make((*shape[:-2], count)))


def products_of_reflections(make: TensorMaker) -> Iterator[SampleInput]:
    rows, count = (2, 1) if make.requires_grad else (4, 3)
    for batch in ((),) if make.requires_grad else ((), (2,)):
        for left in (True, False):
            for transpose in (False, True):
                other = make((*batch, rows, 2) if left else (*batch, 2, rows))
                args = make((*batch, rows, count)), make((*batch, count)), other
                yield SampleInput(*args, left=left, transpose=transpose)


def product_of_reflections(x: np.ndarray, tau: Any) -> Any:
    """Return the first columns of the product, reflection by reflection."""
    made = np.zeros(x.shape, x.dtype) + np.eye(*x.shape[-2:], dtype=x.dtype)
    for at in reversed(range(tau.shape[-1])):
        vector = (
            np.tril(x, -1)[..., :, at : at + 1] + np.eye(x.shape[-2], dtype=x.dtype)[:, at:][:, :1]
        )
        along = vector.swapaxes(-2, -1).conj() @ made
        made = made - tau[..., at, None, None] * (vector @ along)
    return made


def hermitian_inverse(x: np.ndarray, upper: bool = False) -> Any:
    turned = x.swapaxes(-2, -1).conj()
    return np.linalg.inv(turned @ x if upper else x @ turned)


def solved_with(x: np.ndarray, a: np.ndarray, upper: bool = False) -> Any:
    return hermitian_inverse(a, upper) @ x


OP_INFOS = [
    info(
        "linalg_cholesky_ex",
        squares(definite, {}, {"upper": True}),
        with_infos(cholesky),
        errors=no_square("linalg.cholesky"),
        skips=ONE_TRIANGLE,
    ),
    info(
        "linalg_cholesky",
        squares(definite, {}, {"upper": True}),
        cholesky,
        errors=refusals(
            (
                lambda make: SampleInput(-definite(make)),
                RuntimeError,
                r"linalg.cholesky: The factorization could not be completed because the input is "
                r"not positive-definite \(the leading minor of order 1 is not positive-definite\)",
            )
        ),
        skips=(*ONE_TRIANGLE, *SINGULAR),
    ),
    info(
        "cholesky",
        squares(definite, {}, {"upper": True}),
        cholesky,
        errors=no_square("cholesky"),
        skips=(*ONE_TRIANGLE, *SINGULAR),
    ),
    info(
        "cholesky_solve",
        old_systems,
        solved_with,
        errors=refusals(
            (
                lambda make: SampleInput(make(2, 2), triangular(make)),
                RuntimeError,
                "Incompatible matrix sizes for cholesky_solve",
            )
        ),
    ),
    info(
        "cholesky_inverse",
        lambda make: [
            SampleInput(triangular(make, *batch, upper=upper), upper=upper)
            for batch in (BATCHES[:1] if make.requires_grad else BATCHES)
            for upper in (False, True)
        ],
        hermitian_inverse,
        errors=no_square("cholesky_inverse"),
        skips=SINGULAR,
    ),
    info("linalg_lu_factor_ex", rectangles(), errors=no_matrix("torch.lu_factor|.*")),
    info(
        "linalg_lu_factor",
        squares(),
        errors=refusals(
            (
                lambda make: SampleInput(make.values([[1.0, 2.0], [2.0, 4.0]])),
                RuntimeError,
                r"U\[2,2\] is zero and using it on lu_solve would result in a division by zero",
            )
        ),
        skips=SINGULAR,
    ),
    info("_lu_with_info", squares(), skips=SINGULAR),
    info("lu_unpack", lu_data),
    info("linalg_lu", rectangles(), lu),
    info("linalg_lu_solve", lu_systems),
    info("lu_solve", old_lu_systems),
    info(
        "linalg_ldl_factor_ex",
        squares(definite, {}, {"hermitian": True}),
        errors=no_square("torch.linalg.ldl_factor_ex"),
        supports_autograd=False,
    ),
    info("linalg_ldl_factor", squares(definite, {}, {"hermitian": True}), supports_autograd=False),
    info("linalg_ldl_solve", ldl_systems, supports_autograd=False),
    info(
        "linalg_qr",
        rectangles({}),
        np.linalg.qr,
        errors=refusals(
            (
                lambda make: SampleInput(make(2, 2), "raw"),
                RuntimeError,
                "qr received unrecognized mode 'raw'",
            )
        ),
    ),
    info("qr", rectangles({}), np.linalg.qr),
    info("geqrf", rectangles(), supports_autograd=False),
    info(
        "linalg_householder_product",
        reflections,
        product_of_reflections,
        errors=refusals(
            (
                lambda make: SampleInput(make(2, 3), make(2)),
                RuntimeError,
                r"input.shape\[-2\] must be greater than or equal to input.shape\[-1\]",
            )
        ),
    ),
    info("orgqr", reflections, product_of_reflections),
    info("ormqr", products_of_reflections),
    info("triangular_solve", triangular_systems, triangular_solve),
]
"""Factorizations, and what is solved with them."""
