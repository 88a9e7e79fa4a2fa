"""Samples of eigenvalues, singular values, norms and the matrix exponential."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from dovetail_dispatcher.testing import SampleInput, Skip, TensorMaker, floating_types

from ..makers import INEXACT, is_inexact, op_info, refusals, refused
from .makers import (
    GRADIENTS,
    LAPACK,
    ONE_TRIANGLE,
    PHASES,
    definite,
    generic,
    leaf,
    no_matrix,
    no_square,
    rectangles,
    regular,
    sized,
    squares,
)

info = partial(op_info, family="linalg", dtypes=LAPACK)

ALL_PHASES = tuple(
    [Skip(check, "the phases of complex vectors are arbitrary") for check in GRADIENTS]
)


REAL_TRIANGLE = tuple([replace(skip, dtypes=floating_types()) for skip in ONE_TRIANGLE])


def spread(make: TensorMaker, *batch: int, n: int | None = None) -> Any:
    """Return Hermitian matrices with eigenvalues far from each other."""
    n = sized(make, n)
    x = definite(make, *batch, n=n).detach()
    if not is_inexact(make) or not n:
        return leaf(make, x)
    return leaf(make, x + make.values(np.diag(np.arange(n) ** 2 * 3.0).tolist()))


def tall_or_wide(*options: dict[str, Any]) -> Any:
    """Return matrices of different singular values, and each of some keyword arguments."""

    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for keywords in options or ({},):
            if make.requires_grad and keywords.get("full_matrices"):
                continue  # the columns that do not count have no gradient
            small = ((2, 2), (3, 2), (2, 3))
            for shape in small if make.requires_grad else (*small, (2, 3, 2), (0, 2)):
                yield SampleInput(generic(make, *shape), **keywords)

    return samples


def equations(make: TensorMaker) -> Iterator[SampleInput]:
    """Return Hermitian matrices without pairs of eigenvalues that cancel, and right-hand sides."""
    for batch in ((), (2,)):
        left = spread(make, *batch)
        yield SampleInput(left, make(*left.shape))


def singular_norms(make: TensorMaker) -> Iterator[SampleInput]:
    yield from tall_or_wide({"ord": "nuc"}, {"ord": "2"})(make)
    yield SampleInput(generic(make, 3, 2), ord="-2")  # of none there is no least one


def svd(x: np.ndarray, some: bool = True, compute_uv: bool = True) -> Any:
    u, values, vh = np.linalg.svd(x, full_matrices=False)
    return np.abs(u), values, np.abs(vh.swapaxes(-2, -1))


def whole_norms(*orders: Any) -> Any:
    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for shape in ((3, 2),) if make.requires_grad else ((3, 2), (2, 3, 3)):
            for ord in orders:
                yield SampleInput(generic(make, *shape), ord)
        yield SampleInput(generic(make, 2, 1, 2), orders[0], (0, 2), True)
        yield SampleInput(generic(make, 2, 1, 2), orders[0], (2, 0))

    return samples


def norms(make: TensorMaker) -> Iterator[SampleInput]:
    yield SampleInput(generic(make, 2, 3))
    yield SampleInput(generic(make, 2, 3), 2)
    yield SampleInput(make(3), 3)
    yield SampleInput(generic(make, 2, 3), 1, (1,))
    yield SampleInput(generic(make, 2, 3), None, (1,), True)
    yield SampleInput(generic(make, 2, 3, 2), math.inf, (0, 2))
    yield SampleInput(make(()))


def named_norms(make: TensorMaker) -> Iterator[SampleInput]:
    yield SampleInput(generic(make, 2, 3), "fro")
    yield SampleInput(generic(make, 2, 3), "nuc")
    yield SampleInput(generic(make, 2, 1, 2), "nuc", (0, 2), True)


def norm(x: np.ndarray, ord: float | None = None, dim: Any = None, keepdim: bool = False) -> Any:
    axis = None if dim is None else tuple(dim) if len(dim) == 2 else dim[0]
    return np.linalg.norm(x, ord, axis=axis, keepdims=keepdim)


def matrix_norm(x: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False) -> Any:
    return np.linalg.norm(x, ord, axis=tuple(dim), keepdims=keepdim)


def modest(make: TensorMaker, *batch: int, n: int | None = None) -> Any:
    """Return square matrices with small elements."""
    n = sized(make, n)
    return generic(make, *batch, n, n)


def matrix_exp(x: np.ndarray) -> Any:
    return (
        import_module("scipy.linalg").expm(x.astype(np.result_type(x, np.float32))).astype(x.dtype)
    )


def conditions(*orders: Any) -> Any:
    return lambda make: [
        SampleInput(regular(make, *batch), ord) for ord in orders for batch in ((), (2,))
    ]


OP_INFOS = [
    info(
        "_linalg_eigh",
        squares(spread, {}, {"UPLO": "U"}, {"compute_v": False}),
        errors=no_square("linalg.eigh"),
        skips=(*PHASES, *REAL_TRIANGLE),
    ),
    info(
        "linalg_eigh",
        squares(spread, {}, {"UPLO": "U"}),
        errors=refusals(
            (
                lambda make: SampleInput(spread(make), "X"),
                RuntimeError,
                "Expected UPLO argument to be 'L' or 'U', but got X",
            )
        ),
        skips=(*PHASES, *REAL_TRIANGLE),
    ),
    info(
        "linalg_eigvalsh",
        squares(spread),
        np.linalg.eigvalsh,
        errors=no_square("linalg.eigh"),
        skips=ONE_TRIANGLE,
    ),
    info("linalg_eig", squares(spread), errors=no_square("linalg.eig"), skips=ALL_PHASES),
    info("linalg_eigvals", squares(spread), errors=no_square("linalg.eigvals")),
    info(
        "_linalg_svd",
        tall_or_wide({}, {"full_matrices": True}, {"compute_uv": False}),
        errors=no_matrix("linalg.svd"),
        skips=PHASES,
    ),
    info(
        "linalg_svd",
        tall_or_wide({"full_matrices": False}),
        errors=refused(
            lambda make: SampleInput(make(2, 2), driver="gesvd"),
            RuntimeError,
            "keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER",
        ),
        skips=PHASES,
    ),
    info(
        "linalg_svdvals",
        tall_or_wide(),
        lambda x: np.linalg.svd(x, compute_uv=False),
        errors=no_matrix("linalg.svd"),
    ),
    info("svd", tall_or_wide({}, {"compute_uv": False}), skips=PHASES),
    op_info(
        "linalg_matrix_exp",
        squares(modest),
        matrix_exp,
        INEXACT,
        family="linalg",
        errors=no_square("linalg.matrix_exp"),
    ),
    op_info("matrix_exp", squares(modest), matrix_exp, INEXACT, family="linalg"),
    info("_linalg_singular_norm", singular_norms),
    info("_linalg_singular_norm_gradient", tall_or_wide({"ord": "nuc"}, {"ord": "2"})),
    info("_linalg_lyapunov", equations),
    op_info(
        "linalg_norm",
        norms,
        norm,
        LAPACK,
        family="linalg",
        errors=refused(
            lambda make: SampleInput(make(2, 2, 2), 2),
            RuntimeError,
            "If dim is not specified but ord is, the input must be 1D or 2D. Got 3D",
        ),
    ),
    info("linalg_norm.ord_str", named_norms, norm),
    info(
        "linalg_matrix_norm",
        whole_norms(2, 1, math.inf, -2, -1, -math.inf),
        matrix_norm,
        errors=refusals(
            (
                lambda make: SampleInput(make(2, 2), 3),
                RuntimeError,
                "linalg.matrix_norm: Order 3 not supported",
            ),
            (
                lambda make: SampleInput(make(2, 2), 2, (0, 0)),
                RuntimeError,
                r"linalg.matrix_norm: dims must be different. Got \(0, 0\)",
            ),
        ),
    ),
    info(
        "linalg_matrix_norm.str_ord",
        whole_norms("fro", "nuc"),
        matrix_norm,
        errors=no_matrix("linalg.matrix_norm"),
    ),
    info(
        "linalg_cond",
        conditions(None, 2, -2, 1, -1, math.inf, -math.inf),
        lambda x, p=None: np.linalg.cond(x, p),
        errors=refused(
            lambda make: SampleInput(make(2, 2), 3),
            RuntimeError,
            "linalg.cond got an invalid norm type: 3",
        ),
    ),
    info(
        "linalg_cond.p_str",
        conditions("fro", "nuc"),
        np.linalg.cond,
        errors=refused(
            lambda make: SampleInput(make(2, 2), "x"),
            RuntimeError,
            "linalg.cond got an invalid norm type: x",
        ),
    ),
    info(
        "nuclear_norm", rectangles({}, {"keepdim": True}), lambda x, **k: matrix_norm(x, "nuc", **k)
    ),
    info(
        "nuclear_norm.dim",
        lambda make: [SampleInput(generic(make, 2, 1, 2), dim) for dim in ((0, 1), (-1, 0))],
        lambda x, dim: matrix_norm(x, "nuc", dim),
    ),
    op_info(
        "frobenius_norm.dim",
        lambda make: [SampleInput(make(2, 3, 2), dim) for dim in ((0, 1), (1,), (-1, 0))],
        lambda x, dim: np.sqrt(np.sum(np.abs(x) ** 2, tuple(dim))),
        INEXACT,
        family="linalg",
    ),
]
"""Eigenvalues, singular values, norms and the matrix exponential."""
