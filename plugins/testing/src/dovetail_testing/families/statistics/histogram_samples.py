"""Samples of histograms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from dovetail_aten.typing import Scalar
from dovetail_dispatcher.testing import SampleInput, TensorMaker
from dovetail_kernel import bool as bool_
from dovetail_kernel import float32, float64, int64

from ..makers import FLOATING, INTEGRAL, Samples, op_info, refusals

info = partial(op_info, family="statistics", supports_autograd=False)

PRECISE = frozenset({float32, float64})


def counts(make: TensorMaker) -> Iterator[SampleInput]:
    for shape in ((5,), (2, 3), ()):
        yield SampleInput(make(shape), 4)
    yield SampleInput(make(2, 4), 3, -1, 1)
    yield SampleInput(make.values([1.0, 1.0]), 3)
    yield SampleInput(make(0, 3), 3)


def histc(x: np.ndarray, bins: int = 100, min: Any = 0, max: Any = 0) -> Any:
    """Return NumPy's histogram, which leaves out as much at equal bounds as is asked for."""
    if min == max:
        min, max = (x.min(), x.max()) if x.size else (0, 0)
    if min == max:
        min, max = min - 1, max + 1
    return np.histogram(x, bins, (min, max))[0]


def weighed(*bins: Any) -> Samples:
    """Return samples of numbers with bins, and with or without weights."""

    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for each in bins:
            for shape in ((6,), (2, 3)):
                for density in (False, True):
                    given = each if isinstance(each, int) else make.values(each)
                    yield SampleInput(make(shape), given, density=density)
            weight = make(2, 3, low=0.0, high=2.0)
            given = each if isinstance(each, int) else make.values(each)
            yield SampleInput(make(2, 3), given, weight=weight, density=True)

    return samples


def in_ranges(make: TensorMaker) -> Iterator[SampleInput]:
    yield from weighed(3)(make)
    yield SampleInput(make(6), 4, range=(-1.0, 0.5))
    yield SampleInput(make.values([1.0, 1.0]), 3)
    yield SampleInput(make(0, 3), 3)


def histogram(
    x: np.ndarray, bins: Any, range: Any = None, weight: Any = None, density: bool = False
) -> Any:
    weight = None if weight is None else weight.reshape(-1)
    return np.histogram(x.reshape(-1), bins, range, density, weight)


def points(bins: Sequence[object]) -> Samples:
    """Return samples of points with bins, and with or without weights."""

    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        def given() -> Any:
            return [each if isinstance(each, int) else make.values(each) for each in bins]

        yield SampleInput(make(5, 2), given())
        yield SampleInput(make(3, 2, 2), given(), density=True)
        yield SampleInput(make(5, 2), given(), weight=make(5, low=0.0, high=2.0), density=True)

    return samples


def in_range(samples: Samples) -> Samples:
    def made(make: TensorMaker) -> Iterator[SampleInput]:
        yield from samples(make)
        yield SampleInput(make(5, 2), [2, 3], range=(-1.0, 1.0, -0.5, 1.5))

    return made


def edges_and_hist(
    x: Any,
    bins: Any,
    range: Sequence[Scalar] | None = None,
    weight: Any = None,
    density: bool = False,
) -> Any:
    pairs: Any = None if range is None else np.reshape(range, (-1, 2))
    weight = None if weight is None else weight.reshape(-1)
    bins = [bins] * x.shape[-1] if isinstance(bins, int) else bins
    return np.histogramdd(x.reshape(-1, x.shape[-1]), bins, pairs, density, weight)


def hist_of(*args: Any, **kwargs: Any) -> Any:
    return edges_and_hist(*args, **kwargs)[0]


def edges_of(*args: Any, **kwargs: Any) -> Any:
    return edges_and_hist(*args, **kwargs)[1]


def integers(make: TensorMaker) -> Iterator[SampleInput]:
    def made() -> Any:
        return make.values([1, 3, 1, 0])

    yield SampleInput(made())
    yield SampleInput(made(), None, 6)
    yield SampleInput(made(), make.values([0.5, 1.0, 2.0, 1.0], float32))
    yield SampleInput(made(), make.values([1, 2, 3, 4], int64), 2)
    yield SampleInput(make.values([]), None, 2)


def counted(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    return np.bincount(x.astype(np.int64), weights, minlength)


bad_bins = (
    lambda make: SampleInput(make(3), 0),
    RuntimeError,
    r"torch.histogram\(\): bins must be > 0, but got 0 for dimension 0",
)
BAD_RANGES = refusals(
    bad_bins,
    (
        lambda make: SampleInput(make(3), 2, range=(3.0, 1.0)),
        RuntimeError,
        "torch.histogramdd: min should not exceed max, but got min 3 max 1 for dimension 0",
    ),
    (
        lambda make: SampleInput(make.values([np.nan, 1.0]), 2),
        RuntimeError,
        r"torch.histogramdd: dimension 0's range \[nan, nan\] is not finite",
    ),
    (
        lambda make: SampleInput(make(3), 2, weight=make(2)),
        RuntimeError,
        "if weight tensor is provided it should have the same shape as the input tensor",
    ),
)
BAD_EDGES = refusals(
    (
        lambda make: SampleInput(make(3), make(2, 2)),
        RuntimeError,
        "bins tensor should have one dimension, but got 2 dimensions",
    ),
    (
        lambda make: SampleInput(make(3), make.values([1.0, 2.0], float64)),
        RuntimeError,
        "input tensor and bins tensors should have the same dtype",
    ),
)
BAD_POINTS = refusals(
    (
        lambda make: SampleInput(make(5, 2), [2]),
        RuntimeError,
        "The size of bins must be equal to the innermost dimension of the input",
    ),
    (
        lambda make: SampleInput(make(2), [2, 2]),
        RuntimeError,
        "input tensor should have at least 2 dimensions",
    ),
)
EDGES = ([-2.0, -0.5, 0.5, 2.0], [-1.5, 0.0, 2.0])

OP_INFOS = [
    info(
        "histc",
        counts,
        histc,
        FLOATING,
        errors=refusals(
            bad_bins,
            (
                lambda make: SampleInput(make(3), 3, 5, 1),
                RuntimeError,
                "torch.histc: max must be larger than min",
            ),
            (
                lambda make: SampleInput(make.values([np.inf, 1.0]), 2),
                RuntimeError,
                r"torch.histc: range of \[1, inf\] is not finite",
            ),
        ),
    ),
    info("histogram.bin_ct", in_ranges, histogram, PRECISE, errors=BAD_RANGES),
    info("histogram.bins_tensor", weighed(EDGES[0]), histogram, FLOATING, errors=BAD_EDGES),
    info("_histogramdd_bin_edges", in_range(points([2, 3])), edges_of, PRECISE),
    info(
        "_histogramdd_from_bin_cts", in_range(points([2, 3])), hist_of, PRECISE, errors=BAD_POINTS
    ),
    info("_histogramdd_from_bin_tensors", points(EDGES), hist_of, FLOATING),
    info("histogramdd", in_range(points([2, 3])), None, PRECISE, errors=BAD_POINTS),
    info("histogramdd.int_bins", lambda make: [SampleInput(make(5, 2), 3)], None, PRECISE),
    info("histogramdd.TensorList_bins", points(EDGES), None, FLOATING),
    info(
        "bincount",
        integers,
        counted,
        INTEGRAL - {bool_},
        errors=refusals(
            (
                lambda make: SampleInput(make.values([-1], int64)),
                RuntimeError,
                "bincount only supports 1-d non-negative integral inputs",
            ),
            (
                lambda make: SampleInput(make.values([1, 2], int64), make(3)),
                RuntimeError,
                "weights should be 1-d and have the same length as input",
            ),
            (
                lambda make: SampleInput(make.values([1], int64), None, -1),
                RuntimeError,
                "minlength should be >= 0",
            ),
        ),
    ),
]
