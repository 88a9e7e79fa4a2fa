"""Samples of moments, extrema, order and scans along dimensions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import nan
from typing import Any

import numpy as np

from dovetail_dispatcher.testing import SampleInput, TensorMaker
from dovetail_kernel import float64

from ..makers import FLOATING, INEXACT, NO_SHAPE, REAL, joined, op_info, refusals, refused, smooth
from ..statistics import references as ref
from .reduction_samples import (
    KEEP,
    NO_GRAD,
    along,
    corrections,
    deviations,
    over,
    whole,
    wrong_dim,
    wrong_dims,
)
from .references import numpys, order_of, sorted_

info = partial(op_info, family="reductions")


# -- moments and extrema ---------------------------------------------------------------------------


def with_nans(make: TensorMaker) -> Iterator[SampleInput]:
    if make.dtype.is_floating_point and not make.requires_grad:
        rows = make.values([[nan, 1.0, 2.0], [nan, nan, 0.5]])
        yield SampleInput(rows, (1,)).with_metadata(name="special values")
        yield SampleInput(rows).with_metadata(name="special values")


def minmax(make: TensorMaker) -> Iterator[SampleInput]:
    for shape, dim in (((2, 3), 1), ((2, 3), None), ((2, 1, 3), 0), ((), None), ((), 0)):
        for keepdim in (False, True):
            yield SampleInput(make(shape), dim=dim, keepdim=keepdim)
    yield SampleInput(make(0, 3), dim=1)


def tests(make: TensorMaker) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make(2, 3), ())
    yield from over(*KEEP, none=False)(make)
    yield SampleInput(make(2, 1, 3), (0, 2), True)


MOMENTS = [
    *[
        row
        for name, function in (("var", np.var), ("std", np.std))
        for row in (
            info(f"{name}_mean", deviations(()), ref.with_mean(function), INEXACT),
            info(
                f"{name}_mean.dim",
                deviations((-1,), ((-1,),), (None,)),
                ref.with_mean(function),
                INEXACT,
            ),
            info(
                f"{name}_mean.correction",
                corrections,
                ref.with_mean(function),
                INEXACT,
                errors=wrong_dims,
            ),
        )
    ],
    info(
        "nansum",
        joined(over(*KEEP, {"dtype": float64}), whole(), with_nans),
        numpys(np.nansum),
        REAL,
        errors=wrong_dims,
    ),
    info(
        "nanmean",
        joined(over(*KEEP, {"dtype": float64}, empty=False), with_nans),
        numpys(np.nanmean),
        FLOATING,
        errors=wrong_dims,
    ),
    info(
        "aminmax",
        minmax,
        ref.aminmax,
        REAL,
        errors=refusals(
            (
                lambda make: SampleInput(make(0, 3)),
                RuntimeError,
                "cannot compute aminmax over an empty dimension as the operation has no identity",
            ),
            (
                lambda make: SampleInput(make(0, 3), dim=0),
                IndexError,
                "Expected reduction dim 0 to have non-zero size",
            ),
        ),
    ),
    *[
        info(f"{name}.dims", tests, ref.tested(function), errors=wrong_dims, **NO_GRAD)
        for name, function in (("all", np.all), ("any", np.any))
    ],
]


# -- order, scans and places -----------------------------------------------------------------------


def stable_sorts(make: TensorMaker) -> Iterator[SampleInput]:
    for shape, dim in (((2, 3), 1), ((3, 2), 0), ((3,), -1), ((), 0), ((0, 3), 1)):
        for descending in (False, True):
            yield SampleInput(make(shape), stable=True, dim=dim, descending=descending)
    yield SampleInput(make(2, 3), stable=False)


def by_keyword(reference: Callable[..., object]) -> Any:
    """Return the reference of a sort without what says that it is stable."""
    return lambda x, stable, dim=-1, descending=False: reference(x, dim, descending)


def scans(make: TensorMaker) -> Iterator[SampleInput]:
    yield from along()(make)
    if make.dtype.is_floating_point and not make.requires_grad:
        rows = make.values([1.0, 1.0, 2.0, nan, 5.0, nan])
        yield SampleInput(rows, 0).with_metadata(name="special values")


def places(make: TensorMaker) -> Iterator[SampleInput]:
    for size in (0, 2, 8):
        yield SampleInput(make(2, 3), size=size)
    yield SampleInput(make(4), size=6, fill_value=7)
    yield SampleInput(make(()), size=2)
    yield SampleInput(make(0, 3), size=2)


stable_dim = refused(
    lambda make: SampleInput(make(2, 3), stable=True, dim=5), IndexError, "Dimension out of range"
)

ORDER = [
    info("sort.stable", stable_sorts, by_keyword(sorted_), REAL, errors=stable_dim),
    info("argsort.stable", stable_sorts, by_keyword(order_of), REAL, errors=stable_dim, **NO_GRAD),
    info("msort", smooth(), lambda x: np.sort(x, 0) if x.ndim else x, REAL),
    info("cummax", scans, ref.running(np.maximum), REAL, errors=wrong_dim),
    info("cummin", scans, ref.running(np.minimum), REAL, errors=wrong_dim),
    info("logcumsumexp", along(), ref.logcumsumexp, INEXACT, errors=wrong_dim),
    info(
        "nonzero_numpy",
        smooth(),
        lambda x: np.nonzero(np.atleast_1d(x)),
        skips=(NO_SHAPE,),
        **NO_GRAD,
    ),
    info("argwhere", smooth(), np.argwhere, skips=(NO_SHAPE,), **NO_GRAD),
    info(
        "nonzero_static",
        places,
        ref.nonzero_static,
        errors=refused(
            lambda make: SampleInput(make(2), size=-1),
            RuntimeError,
            "nonzero_static: 'size' must be an non-negative integer",
        ),
        **NO_GRAD,
    ),
]

OP_INFOS = [*MOMENTS, *ORDER]
