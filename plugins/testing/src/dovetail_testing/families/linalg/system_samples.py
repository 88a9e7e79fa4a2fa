"""Samples of inverses, determinants, ranks and solutions of linear equations."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from dovetail_dispatcher.testing import SampleInput, Skip, TensorMaker
from dovetail_kernel import int32

from ..makers import is_inexact, op_info, refusals, refused
from .factorization_samples import with_infos
from .makers import (
    LAPACK,
    SINGULAR,
    definite,
    generic,
    leaf,
    no_matrix,
    no_square,
    regular,
    sized,
    squares,
    triangular,
)

info = partial(op_info, family="linalg", dtypes=LAPACK)


def systems(make: TensorMaker) -> Iterator[SampleInput]:
    n = sized(make, None)
    rows = [((), (n, 1)), ((2,), (n, 1)), ((), (2, n, 1)), ((), (n,))]
    if not make.requires_grad:
        rows += [((2,), (2, n, 2)), ((2,), (2, n)), ((2, 1), (2, 1, n))]
    for batch, side in rows:
        yield SampleInput(regular(make, *batch), make(side))
    for batch, side in (((), (1, n)), ((2,), (1, n))):
        yield SampleInput(regular(make, *batch), make(side), left=False)
    yield SampleInput(regular(make, n=0), make(0, 2))


def solve(a: np.ndarray, b: np.ndarray, left: bool = True) -> Any:
    if not left:
        return (np.linalg.inv(a).T @ b.T).T if a.ndim == 2 else b @ np.linalg.inv(a)
    if b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape == a.shape[:-1]):
        return np.linalg.solve(a, b[..., None])[..., 0]
    return np.linalg.solve(a, b)


def triangles(make: TensorMaker) -> Iterator[SampleInput]:
    n = sized(make, None)
    for upper in (True, False):
        for left in (True, False):
            side = (n, 2) if left else (2, n)
            a = triangular(make, upper=upper)
            yield SampleInput(a, make(side), upper=upper, left=left)
            if not make.requires_grad:
                a = triangular(make, 2, upper=upper)
                yield SampleInput(a, make(side), upper=upper, left=left)
    yield SampleInput(triangular(make), make(2, n, 1), upper=False)
    yield SampleInput(triangular(make, n=0), make(0, 2), upper=False)


def solve_triangular(a: np.ndarray, b: np.ndarray, upper: bool, left: bool = True) -> Any:
    return np.linalg.solve(a, b) if left else b @ np.linalg.inv(a)


def singular(make: TensorMaker) -> Iterator[SampleInput]:
    """Yield square matrices of which some have no inverse."""
    yield from squares()(make)
    if is_inexact(make) and not make.requires_grad:
        yield SampleInput(make.values([[1.0, 2.0], [2.0, 4.0]]))
        yield SampleInput(make.values([[0.0, 0.0], [0.0, 0.0]]))


def least_squares(make: TensorMaker) -> Iterator[SampleInput]:
    for shape in ((3, 2), (2, 2), (2, 3)):
        for batch in ((),) if make.requires_grad else ((), (2,)):
            yield SampleInput(generic(make, *batch, *shape), make((*batch, shape[0], 1)))
    yield SampleInput(generic(make, 2, 3, 2), make(2, 3))
    for driver in ("gels", "gelsd", "gelss"):
        yield SampleInput(generic(make, 3, 2), make(3, 1), driver=driver)


def tensors_to_invert(make: TensorMaker) -> Iterator[SampleInput]:
    for shape, ind in (((2, 1, 2), 2), ((4, 2, 2), 1), ((2, 1, 2, 1), 2)):
        n = math.prod(shape[:ind])
        yield SampleInput(leaf(make, regular(make, n=n).detach().reshape(shape)), ind)


def tensors_to_solve(make: TensorMaker) -> Iterator[SampleInput]:
    for shape, side, dims in (((1, 2, 2), (1, 2), None), ((2, 1, 2, 1), (2, 1), None)):
        a = leaf(make, regular(make, n=2).detach().reshape(shape))
        yield SampleInput(a, make(side), dims)
    a = leaf(make, regular(make, n=2).detach().reshape(2, 1, 2))
    yield SampleInput(a, make(1, 2), (0,))


def ranked(*options: dict[str, Any]) -> Any:
    """Return matrices whose rank is to be found, with each of some keyword arguments."""

    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for keywords in options:
            for shape in ((2, 1), (1, 2)) if make.requires_grad else ((3, 2), (2, 2, 3), (0, 2)):
                yield SampleInput(generic(make, *shape), **keywords)

    return samples


def with_tolerance(value: float, **keywords: Any) -> Any:
    """Return matrices with one tolerance behind."""

    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for shape in ((2, 1),) if make.requires_grad else ((3, 2), (2, 2, 3)):
            yield SampleInput(generic(make, *shape), value, **keywords)

    return samples


def with_tensor(name: str | None = None) -> Any:
    """Return matrices with a tensor of tolerances."""

    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        own = make.dtype.to_real() if is_inexact(make) else make.dtype
        for shape, values in (((3, 2), 0.001), ((2, 2, 3), [0.01, 0.001])):
            tolerance = make.values(values, own)
            if name is None:
                yield SampleInput(generic(make, *shape), tolerance)
            else:
                yield SampleInput(generic(make, *shape), **{name: tolerance})

    return samples


def symmetric(make: TensorMaker) -> Iterator[SampleInput]:
    if not make.requires_grad:  # one triangle is read
        yield SampleInput(definite(make), hermitian=True)


def joined(*parts: Any) -> Any:
    return lambda make: [sample for part in parts for sample in part(make)]


def rank(
    x: Any, tol: Any = None, *, atol: Any = None, rtol: Any = None, hermitian: Any = False
) -> Any:
    values = np.linalg.svd(x, compute_uv=False)
    if not values.size:
        return np.zeros(x.shape[:-2], np.int64)
    absolute = tol if tol is not None else atol
    relative = np.finfo(values.dtype).eps * max(x.shape[-2:])
    relative = 0 if tol is not None or atol is not None else relative
    relative = relative if rtol is None else rtol
    least = np.maximum(0 if absolute is None else absolute, relative * values[..., 0])
    return np.asarray(np.sum(values > np.asarray(least)[..., None], -1))


def pinv(
    x: np.ndarray,
    rcond: object = None,
    *,
    atol: Any = None,
    rtol: object = None,
    hermitian: object = False,
) -> Any:
    if not x.size:
        return np.zeros((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype)
    u, values, vh = np.linalg.svd(x, full_matrices=False)
    relative = rcond if rcond is not None else rtol
    if relative is None:
        relative = 0 if atol is not None else np.finfo(values.dtype).eps * max(x.shape[-2:])
    least = np.maximum(0 if atol is None else atol, relative * values[..., 0])
    counts = values > np.asarray(least)[..., None]
    inverted = np.where(counts, 1 / np.where(counts, values, 1), 0)
    adjoint = [each.swapaxes(-2, -1).conj() for each in (vh, u)]
    return ((adjoint[0] * inverted[..., None, :]) @ adjoint[1]).astype(x.dtype)


def infos(make: TensorMaker) -> Iterator[SampleInput]:
    yield SampleInput(make.values([0, 0]), "linalg.inv", is_matrix=False)
    yield SampleInput(make.values(0), "linalg.inv", is_matrix=True)


def logdet(x: np.ndarray) -> Any:
    sign, logarithm = np.linalg.slogdet(x)
    return np.log(sign) + logarithm


OP_INFOS = [
    op_info(
        "_linalg_check_errors",
        infos,
        dtypes=frozenset({int32}),
        family="linalg",
        supports_autograd=False,
        errors=refused(
            lambda make: SampleInput(make.values([0, 2], int32), "linalg.inv", is_matrix=False),
            RuntimeError,
            r"linalg.inv: \(Batch element 1\): The diagonal element 2 is zero",
        ),
    ),
    info("linalg_inv_ex", squares(), with_infos(np.linalg.inv), errors=no_square("linalg.inv")),
    info(
        "linalg_inv",
        squares(),
        np.linalg.inv,
        errors=refused(
            lambda make: SampleInput(make.values([[1.0, 2.0], [2.0, 4.0]])),
            RuntimeError,
            "linalg.inv: The diagonal element 2 is zero, the inversion could not be completed "
            "because the input matrix is singular",
        ),
        skips=SINGULAR,
    ),
    info("inverse", squares(), np.linalg.inv, errors=no_square("linalg.inv"), skips=SINGULAR),
    info(
        "linalg_solve_ex",
        systems,
        lambda a, b, left=True: (solve(a, b, left), np.zeros(a.shape[:-2], np.int32)),
        errors=refusals(
            (
                lambda make: SampleInput(regular(make), make(2, 2)),
                RuntimeError,
                r"linalg.solve: Incompatible shapes of A and B for the equation AX = B \(3x3 and",
            ),
            (
                lambda make: SampleInput(make(2, 3), make(2, 2)),
                RuntimeError,
                "linalg.solve: A must be batches of square matrices",
            ),
        ),
    ),
    info(
        "linalg_solve",
        systems,
        solve,
        errors=refused(
            lambda make: SampleInput(make.values([[1.0, 2.0], [2.0, 4.0]]), make(2)),
            RuntimeError,
            "torch.linalg.solve: The solver failed because the input matrix is singular",
        ),
        skips=SINGULAR,
    ),
    info(
        "linalg_solve_triangular",
        triangles,
        solve_triangular,
        errors=refused(
            lambda make: SampleInput(triangular(make), make(2, 2), upper=True),
            RuntimeError,
            "linalg.solve_triangular: Incompatible shapes of A and B",
        ),
    ),
    info("linalg_det", singular, np.linalg.det, errors=no_square("linalg.det")),
    info("det", singular, np.linalg.det, errors=no_square("linalg.det")),
    info("linalg_slogdet", squares(), np.linalg.slogdet, errors=no_square("linalg.slogdet")),
    info("slogdet", squares(), np.linalg.slogdet, errors=no_square("linalg.slogdet")),
    info("logdet", squares(), logdet, errors=no_square("logdet")),
    info(
        "linalg_lstsq",
        least_squares,
        skips=(Skip("meta_gradients", "what it gives depends on values"),),
        errors=refused(
            lambda make: SampleInput(make(4, 2), make(3, 2)),
            RuntimeError,
            r"torch.linalg.lstsq: input.size\(-2\) should match other.size\(-2\)",
        ),
    ),
    info(
        "linalg_tensorinv",
        tensors_to_invert,
        np.linalg.tensorinv,
        errors=refused(
            lambda make: SampleInput(make(2, 3), 1),
            RuntimeError,
            r"Expected self to satisfy the requirement prod\(self.shape\[ind:\]\) ==",
        ),
        skips=SINGULAR,
    ),
    info(
        "linalg_tensorsolve",
        tensors_to_solve,
        lambda a, b, dims=None: np.linalg.tensorsolve(a, b, axes=dims),
        errors=refused(
            lambda make: SampleInput(make(2, 3), make(2)),
            RuntimeError,
            r"Expected self to satisfy the requirement prod\(self.shape\[other.ndim:\]\)",
        ),
        skips=SINGULAR,
    ),
    info("linalg_pinv.atol_rtol_tensor", joined(ranked({}), with_tensor("rtol")), pinv),
    info(
        "linalg_pinv.atol_rtol_float",
        joined(ranked({}, {"rtol": 0.001}, {"atol": 0.002}), symmetric),
        pinv,
    ),
    info("linalg_pinv", with_tolerance(0.001), pinv),
    info("linalg_pinv.rcond_tensor", with_tensor(), pinv),
    info("pinverse", with_tolerance(0.001), pinv),
    info(
        "linalg_matrix_rank.atol_rtol_tensor",
        joined(ranked({}), with_tensor("atol")),
        rank,
        errors=no_matrix("torch.linalg.matrix_rank"),
        supports_autograd=False,
    ),
    info(
        "linalg_matrix_rank.atol_rtol_float",
        joined(ranked({}, {"rtol": 0.1}, {"atol": 0.5}), symmetric),
        rank,
        supports_autograd=False,
    ),
    info("linalg_matrix_rank", with_tolerance(0.5), rank, supports_autograd=False),
    info("linalg_matrix_rank.tol_tensor", with_tensor(), rank, supports_autograd=False),
]
"""Inverses, determinants, ranks, and solutions of linear equations."""
