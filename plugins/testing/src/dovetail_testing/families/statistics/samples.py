"""Samples of statistics."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import nan
from typing import Any

import numpy as np

from dovetail_dispatcher.testing import SampleInput, TensorMaker

from ..makers import REAL, REAL_NUMBERS, Samples, op_info, refusals
from ..reductions.reduction_samples import KEEP, empty_dim
from . import difference_samples, histogram_samples
from . import references as ref

info = partial(op_info, family="statistics")


def distinct(make: TensorMaker, *shape: int) -> Any:
    """Return a tensor of which no two elements are equal, in no order."""
    size = int(np.prod(shape))
    if make.dtype.is_floating_point:
        return make(*shape)
    return make.values((np.arange(size) * 7 % max(size, 1)).reshape(shape))


def selected(*before: Any) -> Samples:
    """Return samples ``(x, *before, dim, keepdim)`` from which one element is selected along a
    dimension.
    """

    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for keywords in KEEP:
            for shape, dim in (((2, 5), 1), ((3, 4), 0), ((5,), -1), ((), 0), ((2, 1, 3), -1)):
                yield SampleInput(distinct(make, *shape), *before, dim, **keywords)
        yield SampleInput(distinct(make, 0, 3), *before, 1)
        if make.dtype.is_floating_point and not make.requires_grad:
            rows = [[nan, 1.0, 0.5, nan, 2.0], [3.0, 1.0, 5.0, 4.0, 2.0]]
            yield SampleInput(make.values(rows), *before, 1).with_metadata(name="special values")

    return samples


def whole_selected(make: TensorMaker) -> Iterator[SampleInput]:
    for shape in ((2, 5), (4,), (), (2, 1, 3)):
        yield SampleInput(distinct(make, *shape))
    if make.dtype.is_floating_point and not make.requires_grad:
        yield SampleInput(make.values([nan, 1.0, 0.5])).with_metadata(name="special values")
        yield SampleInput(make(0, 3))


def modes(make: TensorMaker) -> Iterator[SampleInput]:
    yield from [each for each in selected()(make) if not each.name]
    if not make.requires_grad:
        repeated = [[1, 0, 1, 0, 0], [1, 1, 0, 0, 1]]
        yield SampleInput(make.values(repeated))
        yield SampleInput(make.values(repeated), 0, True)


MEDIANS = [
    row
    for name, function, total in (
        ("median", ref.median, ref.middle),
        ("nanmedian", ref.nanmedian, ref.nanmiddle),
    )
    for row in (
        info(name, whole_selected, total, REAL_NUMBERS),
        info(f"{name}.dim", selected(), function, REAL_NUMBERS, errors=empty_dim(0)),
    )
]

SELECTED = [
    *MEDIANS,
    info("mode", modes, ref.mode, REAL, errors=empty_dim(0)),
    info(
        "kthvalue",
        selected(1),
        ref.kthvalue,
        REAL_NUMBERS,
        errors=refusals(
            (
                lambda make: SampleInput(make(2, 3), 4),
                RuntimeError,
                r"kthvalue\(\): selected number k out of range for dimension 1",
            ),
            (
                lambda make: SampleInput(make(0, 3), 1, 0),
                IndexError,
                r"kthvalue\(\): Expected reduction dim 0 to have non-zero size",
            ),
        ),
    ),
]

OP_INFOS = [*SELECTED, *difference_samples.OP_INFOS, *histogram_samples.OP_INFOS]
