"""Samples of products of tensors, and of combinations of vectors."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from dovetail_dispatcher.testing import SampleInput, Skip, TensorMaker, all_types_and_complex_and
from dovetail_kernel import bool as bool_
from dovetail_kernel import float64, int64

from ..makers import ALL, INEXACT, NUMBERS, each, is_inexact, op_info, refusals, refused
from .makers import LAPACK, no_square, regular

info = partial(op_info, family="linalg")

SINGULAR_INVERSE = (Skip("layouts", "an expanded matrix is singular", sample="inverse"),)
FULL = all_types_and_complex_and()
"""Numbers in whole precision."""


def pairs(*rows: tuple[Any, ...], **options: Any) -> Any:
    """Return samples of two tensors of given shapes."""
    return lambda make: [SampleInput(make(left), make(right), **options) for left, right in rows]


def vectors(make: TensorMaker) -> Iterator[SampleInput]:
    yield SampleInput(make(3), make(3))
    yield SampleInput(make(2, 3), make(2, 3))
    yield SampleInput(make(2, 3), make(1, 3))
    yield SampleInput(make(3, 2), make(3, 2), dim=0)


def cross(x: np.ndarray, y: np.ndarray, dim: int | None = None) -> Any:
    axis = dim if dim is not None else x.shape.index(3)
    return np.cross(x, y, axis=axis).astype(x.dtype)


def powers(make: TensorMaker) -> Iterator[SampleInput]:
    for n in (0, 1, 2, 3, 5):
        yield SampleInput(make(2, 2), n)
    yield SampleInput(make(2, 3, 3), 2)
    if is_inexact(make) and make.dtype in LAPACK:
        yield SampleInput(regular(make), -2).with_metadata(name="inverse")


def chains(make: TensorMaker) -> Iterator[SampleInput]:
    yield SampleInput([make(2, 3), make(3, 4)])
    yield SampleInput([make(2, 3), make(3, 1), make(1, 4), make(4, 2)])


def chains_of_vectors(make: TensorMaker) -> Iterator[SampleInput]:
    yield from chains(make)
    yield SampleInput([make(3), make(3, 2), make(2)])
    yield SampleInput([make(3), make(3)])
    yield SampleInput([make(2, 3), make(3)])


def cartesian(make: TensorMaker) -> Iterator[SampleInput]:
    yield SampleInput([make(2), make(3)])
    yield SampleInput([make(2), make(1), make(2)])


def cartesian_prod(tensors: Any) -> Any:
    return np.stack([np.asarray(row) for row in itertools.product(*tensors)])


def combinations(x: np.ndarray, r: int = 2, with_replacement: bool = False) -> Any:
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    return np.asarray([list(row) for row in choose(x, r)], x.dtype)


def choices(make: TensorMaker) -> Iterator[SampleInput]:
    yield SampleInput(make(4))
    yield SampleInput(make(4), 3)
    yield SampleInput(make(3), 2, True)


def outer_added(make: TensorMaker) -> Iterator[SampleInput]:
    for shape in ((2, 3), (3,), ()):
        yield SampleInput(make(shape), make(2), make(3))
    if make.dtype is not bool_:
        yield SampleInput(make(2, 3), make(2), make(3), beta=2, alpha=3)
        yield SampleInput(make(2, 3), make(2), make(3), beta=0)


def addr(
    x: np.ndarray, left: np.ndarray, right: np.ndarray, beta: object = 1, alpha: object = 1
) -> Any:
    if x.dtype == bool:
        return x | np.logical_and.outer(left, right)
    product = alpha * np.multiply.outer(left, right)
    return (product if beta == 0 else beta * x + product).astype(x.dtype)


def weighted(make: TensorMaker) -> Iterator[SampleInput]:
    for shape in ((2, 4), (4,), (1, 3)):
        yield SampleInput(make(shape))
    yield SampleInput(make(2, 4), correction=0)
    whole, real = make.values([1, 2, 3], int64), make.values([0.5, 1.0, 0.25], float64)
    yield SampleInput(make(2, 3), fweights=whole).with_metadata(name="fweights")
    yield SampleInput(make(2, 3), aweights=real).with_metadata(name="aweights")


def cov(x: Any, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    found = np.cov(x, ddof=correction, fweights=fweights, aweights=aweights)
    return np.asarray(found)


POWERS_OF_VECTORS = each(
    lambda make: SampleInput(make(3)),
    lambda make: SampleInput(make(3), 2),
    lambda make: SampleInput(make(3), 5, True),
    lambda make: SampleInput(make(3), 0),
)


def vander(x: np.ndarray, N: int | None = None, increasing: bool = False) -> Any:
    return np.vander(x, N, increasing)


def trailing_powers(x: np.ndarray, N: int | None = None) -> Any:
    count = x.shape[-1] if N is None else N
    return np.stack([x**power for power in range(count)], -1)


def tensordot(x: Any, y: Any, first: Any, second: np.ndarray) -> Any:
    return np.tensordot(x, y, (list(first), list(second)))


OP_INFOS = [
    info("linalg_matmul", pairs(((2, 3), (3, 2)), ((2, 2, 3), (3,))), np.matmul, NUMBERS),
    info(
        "linalg_diagonal",
        each(
            lambda make: SampleInput(make(2, 3)),
            lambda make: SampleInput(make(2, 3, 3), offset=1),
            lambda make: SampleInput(make(2, 3, 2), offset=-1, dim1=0, dim2=1),
        ),
        lambda x, offset=0, dim1=-2, dim2=-1: np.diagonal(x, offset, dim1, dim2),
    ),
    info(
        "trace",
        lambda make: [SampleInput(make(shape)) for shape in ((3, 3), (2, 4), (0, 2))],
        np.trace,
        NUMBERS,
        errors=refused(
            lambda make: SampleInput(make(3)),
            RuntimeError,
            "trace: expected a matrix, but got tensor with dim 1",
        ),
    ),
    info(
        "linalg_vecdot",
        vectors,
        lambda x, y, dim=-1: np.sum(np.conj(x) * y, dim),
        INEXACT,
        errors=refused(
            lambda make: SampleInput(make(2), make(3)), RuntimeError, "inconsistent tensor size"
        ),
    ),
    info(
        "linalg_cross",
        vectors,
        lambda x, y, dim=-1: np.cross(x, y, axis=dim),
        NUMBERS,
        errors=refusals(
            (
                lambda make: SampleInput(make(2), make(2)),
                RuntimeError,
                "linalg.cross: inputs dimension -1 must have length 3. Got 2 and 2",
            ),
            (
                lambda make: SampleInput(make(3), make(2, 3)),
                RuntimeError,
                "linalg.cross: inputs must have the same number of dimensions",
            ),
        ),
    ),
    info(
        "cross",
        pairs(((3,), (3,)), ((2, 3), (2, 3)), ((3, 2), (3, 2))),
        cross,
        NUMBERS,
        errors=refused(
            lambda make: SampleInput(make(2, 2), make(2, 2)),
            RuntimeError,
            "no dimension of size 3 in input",
        ),
    ),
    info("kron", pairs(((2, 3), (3, 2)), ((3,), (2, 2)), ((), (2,)), ((0, 2), (2, 1))), np.kron),
    info(
        "tensordot",
        each(
            lambda make: SampleInput(make(2, 3, 4), make(3, 4, 2), (1, 2), (0, 1)),
            lambda make: SampleInput(make(2, 3), make(2, 3), (0,), (0,)),
            lambda make: SampleInput(make(2), make(3), (), ()),
        ),
        tensordot,
        NUMBERS,
        errors=refused(
            lambda make: SampleInput(make(2, 3), make(2, 3), (1,), (0,)),
            RuntimeError,
            "contracted dimensions need to match, but first has size 3 in dim 1 and second has",
        ),
    ),
    info(
        "linalg_multi_dot",
        chains_of_vectors,
        np.linalg.multi_dot,
        NUMBERS,
        errors=refusals(
            (
                lambda make: SampleInput([make(2, 2)]),
                RuntimeError,
                r"multi_dot\(\): expected at least 2 tensors but got 1",
            ),
            (
                lambda make: SampleInput([make(2, 2), make(3, 2)]),
                RuntimeError,
                r"tensors 0 and 1 with shapes \[2, 2\] and \[3, 2\] cannot be multiplied",
            ),
        ),
    ),
    info(
        "chain_matmul",
        chains,
        np.linalg.multi_dot,
        NUMBERS,
        errors=refused(
            lambda make: SampleInput([make(2), make(2, 2)]),
            RuntimeError,
            "Tensor dimension is 1, expected 2 instead",
        ),
    ),
    info(
        "linalg_matrix_power",
        powers,
        np.linalg.matrix_power,
        NUMBERS,
        errors=no_square("linalg.matrix_power", 2),
        skips=SINGULAR_INVERSE,
    ),
    info("matrix_power", powers, np.linalg.matrix_power, NUMBERS, skips=SINGULAR_INVERSE),
    info(
        "addr",
        outer_added,
        addr,
        ALL,
        errors=refused(
            lambda make: SampleInput(make(2, 2), make(2, 2), make(2)),
            RuntimeError,
            "addr: Expected 1-D argument vec1, but got 2-D",
        ),
    ),
    info(
        "cartesian_prod",
        cartesian,
        cartesian_prod,
        errors=refused(
            lambda make: SampleInput([make(2, 2)]),
            RuntimeError,
            r"Expect a 1D vector, but got shape \[2, 2\]",
        ),
    ),
    info(
        "combinations",
        choices,
        combinations,
        errors=refused(
            lambda make: SampleInput(make(2, 2)),
            RuntimeError,
            r"Expect a 1D vector, but got shape \[2, 2\]",
        ),
    ),
    info(
        "vander",
        POWERS_OF_VECTORS,
        vander,
        ALL,
        errors=refused(
            lambda make: SampleInput(make(2, 2)), RuntimeError, "x must be a one-dimensional tensor"
        ),
    ),
    info(
        "linalg_vander",
        each(
            lambda make: SampleInput(make(3)),
            lambda make: SampleInput(make(2, 3), N=2),
            lambda make: SampleInput(make(2), N=4),
        ),
        trailing_powers,
        FULL,
        errors=refused(
            lambda make: SampleInput(make(2), N=1), RuntimeError, "N must be greater than 1"
        ),
    ),
    info(
        "cov",
        weighted,
        cov,
        NUMBERS,
        errors=refusals(
            (
                lambda make: SampleInput(make(2, 2, 2)),
                RuntimeError,
                r"cov\(\): expected input to have two or fewer dimensions but got an input with 3",
            ),
            (
                lambda make: SampleInput(
                    make(2, 2), aweights=make.values([1.0, float("nan")], float64)
                ),
                RuntimeError,
                r"cov\(\): aweights cannot be negative",
            ),
            (
                lambda make: SampleInput(make(2, 2), fweights=make(2)),
                RuntimeError,
                r"cov\(\): expected fweights to have integral dtype but got fweights with Float",
            ),
        ),
        skips=tuple(
            [Skip("vmap", "negative weights are refused", sample=f"{a}weights") for a in "fa"]
        ),
    ),
    info(
        "corrcoef", lambda make: [SampleInput(make(2, 4)), SampleInput(make(3, 3))], dtypes=NUMBERS
    ),
]
"""Products of tensors, and combinations of vectors."""
