"""Samples of reductions, scans and sorts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from dovetail_dispatcher.testing import SampleInput, TensorMaker
from dovetail_kernel import float64

from ..makers import (
    INEXACT,
    NO_SHAPE,
    REAL,
    REAL_NUMBERS,
    Errors,
    Samples,
    binary,
    dim_out_of_range,
    indices,
    joined,
    mismatch,
    op_info,
    refusals,
    refused,
    smooth,
)
from .references import (
    counted,
    deviation,
    largest,
    logsumexp,
    numpys,
    order_of,
    scanned,
    selected_backward,
    sorted_,
    summed_to,
    vector_norm,
    with_indices,
)

info = partial(op_info, family="reductions")

POSITIVE = (0.3, 2.1)
NONEMPTY = ((2, 3), (3,), (), (2, 1, 3))


# -- samples ---------------------------------------------------------------------------------------


def whole(*options: dict[str, Any], empty: bool = True) -> Samples:
    """Return samples that are reduced to one number."""

    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for keywords in options or ({},):
            for shape in NONEMPTY:
                yield SampleInput(make(shape), **keywords)
        if empty:
            yield SampleInput(make(0, 3))

    return samples


def along(*options: dict[str, Any], empty: bool = True) -> Samples:
    """Return samples that are reduced along one dimension: ``(x, dim, **keywords)``."""

    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for keywords in options or ({},):
            for shape, dim in (((2, 3), 1), ((2, 3), 0), ((3,), -1), ((), 0), ((2, 1, 3), -2)):
                yield SampleInput(make(shape), dim, **keywords)
        yield SampleInput(make(0, 3), 1)
        if empty:
            yield SampleInput(make(0, 3), 0)

    return samples


def over(*options: dict[str, Any], empty: bool = True, none: bool = True) -> Samples:
    """Return samples that are reduced over several dimensions: ``(x, dims, **keywords)``."""

    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for keywords in options or ({},):
            for shape, dims in (((2, 3), (1,)), ((2, 1, 3), (0, -1)), ((3,), (-1,)), ((), (0,))):
                yield SampleInput(make(shape), dims, **keywords)
        if none:
            yield SampleInput(make(2, 3), ())
        yield SampleInput(make(0, 3), (1,))
        if empty:
            yield SampleInput(make(0, 3), (0,))

    return samples


KEEP: tuple[dict[str, Any], ...] = ({}, {"keepdim": True})
SUM = (*KEEP, {"dtype": float64})


def without_dtype(samples: Samples) -> Samples:
    """Return samples of complex numbers without those that would convert them to real ones."""
    return lambda make: [
        sample
        for sample in samples(make)
        if not (make.dtype.is_complex and "dtype" in sample.kwargs)
    ]


# -- rows ------------------------------------------------------------------------------------------


def sums_of_exp(make: TensorMaker) -> Iterator[SampleInput]:
    """Yield samples; the logarithm of an empty sum has no derivative."""
    yield from over(*KEEP, none=False, empty=not make.requires_grad)(make)


def sorts(make: TensorMaker) -> Iterator[SampleInput]:
    yield from along()(make)
    yield SampleInput(make(2, 3), 1, True)
    yield SampleInput(make(2, 3))


def tops(make: TensorMaker) -> Iterator[SampleInput]:
    for args in ((2,), (1, 0), (2, -1, False), (0,), (2, 0, True, True)):
        yield SampleInput(make(2, 3), *args)
    yield SampleInput(make(()), 1)
    yield SampleInput(make(0, 3), 2)


def norms(make: TensorMaker) -> Iterator[SampleInput]:
    yield from smooth()(make)
    for order in (1, 3, 1.5, 0.5):
        yield SampleInput(make(2, 3), order)
    yield SampleInput(make(2, 3), 2, (1,))
    yield SampleInput(make(2, 1, 3), 2, (0, 2), True)
    if not make.dtype.is_complex:
        yield SampleInput(make(2, 3), 2, None, dtype=float64)


def norms_along(make: TensorMaker) -> Iterator[SampleInput]:
    for order, dims, keepdim in ((2, (1,), False), (None, (0,), True), (3, (0, 1), False)):
        yield SampleInput(make(2, 3), order, dims, keepdim)
    yield SampleInput(make(()), 2, (0,))
    yield SampleInput(make(0, 3), 2, (0,))


def deviations(*dims: tuple[Any, ...]) -> Samples:
    """Return samples with each of some arguments, and unbiased or not."""

    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for shape in ((2, 3), (3,), (2, 2, 3)):
            for args in dims:
                for number in (True, False):
                    yield SampleInput(make(shape), *args, number)

    return samples


def corrections(make: TensorMaker) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make(2, 3), None, correction=0)
    for keywords in ({}, {"correction": 0}, {"keepdim": True}, {"correction": 0.5}):
        yield SampleInput(make(2, 3), (1,), **keywords)
    yield SampleInput(make(2, 2, 3), (0, -1))
    if not make.requires_grad:  # the deviation of one number has no derivative
        yield SampleInput(make(()), correction=0)
    yield SampleInput(make(0, 3), (1,))


def sums_to(make: TensorMaker) -> Iterator[SampleInput]:
    for shape, size in (
        ((2, 3), (3,)),
        ((2, 3), (2, 1)),
        ((2, 3), ()),
        ((2, 3), (2, 3)),
        ((2, 1, 3), (3,)),
    ):
        yield SampleInput(make(shape), size)


def selections(make: TensorMaker) -> Iterator[SampleInput]:
    index = indices(make, [1, 0])
    yield SampleInput(make(2), 1, index, (2, 3), False)
    yield SampleInput(make(2, 1), 1, index.reshape(2, 1), (2, 3), True)


def empty_dim(*args: Any) -> Errors:
    """Return an empty matrix reduced along no elements, and a dimension that is out of range."""
    wrong = tuple([5 if arg == 0 else (5,) for arg in args])
    return refusals(
        (
            lambda make: SampleInput(make(0, 3), *args),
            IndexError,
            r"Expected reduction dim 0 to have non-zero size",
        ),
        (lambda make: SampleInput(make(2, 3), *wrong), IndexError, "Dimension out of range"),
    )


def empty_tensor(text: str) -> Errors:
    return refused(lambda make: SampleInput(make(0, 3)), RuntimeError, text)


NO_GRAD: dict[str, Any] = {"supports_autograd": False}
wrong_dim, wrong_dims = dim_out_of_range(5), dim_out_of_range((5,))
sums = numpys(np.sum)
to_double: tuple[dict[str, Any], ...] = ({}, {"dtype": float64})
largest_whole = whole(empty=False)
EXTREMA = (("max", np.max, np.argmax), ("min", np.min, np.argmin))

SUMS = [
    info("sum", without_dtype(whole(*to_double)), sums),
    info(
        "sum.dim_IntList",
        without_dtype(joined(over(*SUM), whole({"dim": None}, empty=False))),
        sums,
        errors=wrong_dims,
    ),
    info("mean", whole(empty=False), numpys(np.mean), INEXACT),
    info(
        "mean.dim",
        joined(over(*KEEP, empty=False), whole({"dim": None}, empty=False)),
        numpys(np.mean),
        INEXACT,
        errors=wrong_dims,
    ),
    info("prod", without_dtype(whole(*to_double)), numpys(np.prod), domain=POSITIVE),
    info(
        "prod.dim_int",
        without_dtype(along(*SUM)),
        numpys(np.prod),
        domain=POSITIVE,
        errors=wrong_dim,
    ),
    info("cumsum", without_dtype(along(*to_double)), scanned(np.cumsum), errors=wrong_dim),
    info(
        "cumprod",
        without_dtype(along(*to_double)),
        scanned(np.cumprod),
        domain=POSITIVE,
        errors=wrong_dim,
    ),
    info("logsumexp", sums_of_exp, logsumexp, errors=wrong_dims),
    info(
        "sum_to_size",
        sums_to,
        summed_to,
        errors=refused(
            lambda make: SampleInput(make(2, 3), (2, 2)),
            RuntimeError,
            r"size \[2, 2\] is not expandable to size \[2, 3\]|is not expandable",
        ),
    ),
    info("linalg_vector_norm", norms, vector_norm, INEXACT, domain=POSITIVE),
    info(
        "norm.Scalar",
        lambda make: [SampleInput(make(2, 3), p) for p in (2, 1, 3, 1.5)],
        vector_norm,
        INEXACT,
        domain=POSITIVE,
    ),
    info("norm.ScalarOpt_dim", norms_along, vector_norm, INEXACT, domain=POSITIVE),
]

CHOSEN = [
    *[
        row
        for name, values, places in EXTREMA
        for row in (
            info(
                name,
                largest_whole,
                numpys(values),
                REAL,
                errors=empty_tensor(f"{name}\\(\\): Expected reduction dim to be specified"),
            ),
            info(
                f"{name}.dim",
                along(*KEEP, empty=False),
                with_indices(values, places),
                REAL,
                errors=empty_dim(0),
            ),
            info(
                f"a{name}",
                joined(over(*KEEP, empty=False), largest_whole),
                numpys(values),
                REAL,
                errors=empty_dim((0,)),
            ),
            info(
                f"arg{name}",
                joined(along(*KEEP, empty=False), largest_whole),
                numpys(places),
                REAL_NUMBERS,
                errors=empty_dim(0),
                **NO_GRAD,
            ),
        )
    ],
    info("max.other", binary(), np.maximum, REAL, errors=mismatch()),
    info("min.other", binary(), np.minimum, REAL, errors=mismatch()),
    info("sort", sorts, sorted_, REAL, errors=wrong_dim),
    info("argsort", sorts, order_of, REAL, errors=wrong_dim, **NO_GRAD),
    info(
        "topk",
        tops,
        largest,
        REAL_NUMBERS,
        errors=refused(
            lambda make: SampleInput(make(2, 3), 4), RuntimeError, "selected index k out of range"
        ),
    ),
    info("value_selecting_reduction_backward", selections, selected_backward),
]

COUNTS = [
    *[
        row
        for name, function in (("any", np.any), ("all", np.all))
        for row in (
            info(name, whole(), numpys(function), **NO_GRAD),
            info(f"{name}.dim", along(*KEEP), numpys(function), errors=wrong_dim, **NO_GRAD),
        )
    ],
    info("count_nonzero", joined(whole(), along()), counted, errors=wrong_dim, **NO_GRAD),
    info("count_nonzero.dim_IntList", over(none=False), counted, errors=wrong_dims, **NO_GRAD),
    info("nonzero", smooth(), np.argwhere, skips=(NO_SHAPE,), **NO_GRAD),
]

DEVIATIONS = [
    row
    for name, function in (("var", np.var), ("std", np.std))
    for row in (
        info(name, deviations(()), deviation(function), INEXACT),
        info(f"{name}.dim", deviations((-1,), ((-1,),), (None,)), deviation(function), INEXACT),
        info(f"{name}.correction", corrections, deviation(function), INEXACT, errors=wrong_dims),
    )
]

OP_INFOS = [*SUMS, *CHOSEN, *COUNTS, *DEVIATIONS]
