"""Samples of pooling and unpooling of images, and of their gradients."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from dovetail_dispatcher.testing import SampleInput, TensorMaker
from dovetail_kernel import bfloat16, float16, float64, int64

from ..makers import FLOATING, REAL_NUMBERS, Samples, op_info
from . import references
from .errors import (
    adaptive_errors,
    adaptive_line_errors,
    fractional_errors,
    line_errors,
    pool_errors,
    unpool_errors,
    wrong_gradient,
)

info = partial(op_info, family="pooling")

LOOSE = {float16: (5e-3, 5e-3), bfloat16: (5e-2, 5e-2)}
"""Averages, rounded along each dimension."""


def sizes_of(ndim: int) -> tuple[int, ...]:
    return ((5,), (5, 3), (5, 2, 2))[ndim - 1]


def spread(make: TensorMaker, *shape: int) -> Any:
    """Return a tensor whose elements all differ, so that small steps move no maximum."""
    count = math.prod(shape)
    if not (make.dtype.is_floating_point and make.requires_grad):
        return make(shape)
    values = [((7 * place) % max(count, 1)) / 4 - 1 for place in range(count)]
    if len(set(values)) < count:
        values = [place / 4 - 1 for place in range(count)]
    return make.values(values).reshape(shape).detach().requires_grad_()


def twos(ndim: int) -> tuple[int, ...]:
    return (2,) * ndim


# kernel, stride, padding, dilation, ceil_mode
def windows(ndim: int) -> list[tuple[Any, ...]]:
    last = (1,) * (ndim - 1)
    return [
        (twos(ndim),),
        ((3, *last), (2, *last), (1, *(0,) * (ndim - 1)), (1,) * ndim, True),
        ((2, *last), (1,) * ndim, (0,) * ndim, (2, *last), False),
    ]


def maximal(ndim: int) -> Samples:
    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        sizes = sizes_of(ndim)
        for count, how in enumerate(windows(ndim)):
            lead = ((1, 2), (1,), (2, 1))[count]
            yield SampleInput(spread(make, *lead, *sizes), *how)
        if not make.requires_grad:
            yield SampleInput(make(0, 2, *sizes), *windows(ndim)[0])
            yield SampleInput(make(1, 1, *sizes), (1,) * ndim).with_metadata(name="every element")

    return samples


def maximal_gradients(ndim: int) -> Samples:
    find = references.max_pool(ndim)

    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for count, (kernel, *how) in enumerate(windows(ndim)):
            lead = ((1, 1), (1,), (1, 1))[count]
            x = spread(make, *lead, *sizes_of(ndim))
            stride, padding, dilation, ceil_mode = how or (kernel, (0,) * ndim, (1,) * ndim, False)
            full = (kernel, stride, padding, dilation, ceil_mode)
            places = find(x.detach().to(float64).cpu().numpy(), *full)[1]
            yield SampleInput(make(places.shape), x, *full, make.values(places.tolist(), int64))

    return samples


# kernel, stride, padding, ceil_mode, count_include_pad, divisor
def averaging(ndim: int) -> list[tuple[Any, ...]]:
    last, zeros = (1,) * (ndim - 1), (0,) * (ndim - 1)
    rows: list[tuple[Any, ...]] = [
        (twos(ndim),),
        ((3, *last), (2, *last), (1, *zeros), True, True),
        ((3, *last), (2, *last), (1, *zeros), True, False),
    ]
    return rows if ndim == 1 else [*rows, (twos(ndim), twos(ndim), (0,) * ndim, False, True, 3)]


def averages(ndim: int) -> Samples:
    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for count, how in enumerate(averaging(ndim)):
            lead = ((1, 1), (1,), (1, 1), (1, 1))[count]
            yield SampleInput(make(*lead, *sizes_of(ndim)), *how)
        if not make.requires_grad:
            yield SampleInput(make(0, 2, *sizes_of(ndim)), twos(ndim))

    return samples


def average_gradients(ndim: int) -> Samples:
    pool = references.avg_pool(ndim)

    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for kernel, *how in averaging(ndim):
            x = make(1, 1, *sizes_of(ndim))
            given = [*how, *(kernel, (0,) * ndim, False, True, None)[len(how) :]]
            shape = pool(x.detach().to(float64).cpu().numpy(), kernel, *given).shape
            yield SampleInput(make(shape), x, kernel, *given)

    return samples


def adaptive(ndim: int) -> Samples:
    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        sizes = sizes_of(ndim)
        yield SampleInput(spread(make, 1, 1, *sizes), (2, 3, 1)[:ndim])
        yield SampleInput(spread(make, 1, *sizes), (1,) * ndim)
        if not make.requires_grad:
            yield SampleInput(make(1, 1, *sizes), sizes)
            yield SampleInput(make(0, 2, *sizes), twos(ndim))

    return samples


def adaptive_average_gradients(ndim: int) -> Samples:
    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        yield SampleInput(make(1, 1, *(2, 3, 1)[:ndim]), make(1, 1, *sizes_of(ndim)))
        yield SampleInput(make(1, *(1,) * ndim), make(1, *sizes_of(ndim)))

    return samples


def adaptive_maximum_gradients(ndim: int) -> Samples:
    find = references.adaptive_max_pool(ndim)

    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        x = spread(make, 1, 1, *sizes_of(ndim))
        places = find(x.detach().to(float64).cpu().numpy(), (2, 3, 1)[:ndim])[1]
        yield SampleInput(make(places.shape), x, make.values(places.tolist(), int64))

    return samples


def drawn(make: TensorMaker, images: int, channels: int, ndim: int) -> Any:
    """Return random numbers for fractional pooling, exact in every dtype."""
    count = images * channels * ndim
    values = [(place * 5 % 8) / 8 for place in range(count)]
    made = make.values(values).reshape(images, channels, ndim).detach()
    return made if made.dtype is make.dtype else made.to(make.dtype)


def fractional(ndim: int) -> Samples:
    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        sizes = (5, 4, 4)[3 - ndim :] if ndim == 2 else (4, 4, 3)
        numbers = (2, 3, 2)[:ndim] if ndim == 2 else (2, 2, 1)
        kernel = (2, 1, 1)[:ndim]
        yield SampleInput(spread(make, 1, 2, *sizes), kernel, numbers, drawn(make, 1, 2, ndim))
        yield SampleInput(spread(make, 1, *sizes), kernel, (1,) * ndim, drawn(make, 1, 1, ndim))

    return samples


def fractional_gradients(ndim: int) -> Samples:
    find = references.fractional_max_pool(ndim)

    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for sample in fractional(ndim)(make):
            kernel, numbers, numbers_drawn = sample.args
            x = sample.input.detach().to(float64).cpu().numpy()
            places = find(x, kernel, numbers, numbers_drawn.to(float64).cpu().numpy())[1]
            yield SampleInput(
                make(places.shape), sample.input, kernel, numbers,
                make.values(places.tolist(), int64),
            )  # fmt: skip

    return samples


def unpooled(ndim: int) -> Samples:
    how = () if ndim == 2 else ((1,) * ndim, (0,) * ndim)

    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for lead in ((1, 2), (2,)):
            sizes = (2, 2) if ndim == 2 else (2, 1, 2)
            count = math.prod(sizes)
            rows = [[7 - 2 * place for place in range(count)], [2 * n for n in range(count)]]
            places = make.values(rows, int64).reshape(*lead, *sizes)
            yield SampleInput(make(*lead, *sizes), places, (2, 4, 1)[:ndim], *how)

    return samples


def _of_images(ndim: int) -> list[Any]:
    twice, none, ones = twos(ndim), (0,) * ndim, (1,) * ndim
    max_pool, avg_pool = references.max_pool(ndim), references.avg_pool(ndim)
    adaptive_avg = references.adaptive_avg_pool(ndim)
    errors = pool_errors(ndim)
    of = f"pool{ndim}d"
    return [
        info(f"max_{of}_with_indices", maximal(ndim), max_pool, REAL_NUMBERS, errors=errors),
        info(f"max_{of}", maximal(ndim), first_of(max_pool), REAL_NUMBERS, errors=errors),
        info(f"avg_{of}", averages(ndim), avg_pool, REAL_NUMBERS, errors=errors, tolerances=LOOSE),
        info(
            f"_adaptive_avg_{of}",
            adaptive(ndim),
            adaptive_avg,
            FLOATING,
            errors=adaptive_errors(ndim),
            tolerances=LOOSE,
        ),
        info(
            f"adaptive_avg_{of}",
            adaptive(ndim),
            adaptive_avg,
            FLOATING,
            errors=adaptive_errors(ndim),
            tolerances=LOOSE,
        ),
        info(
            f"adaptive_max_{of}",
            adaptive(ndim),
            references.adaptive_max_pool(ndim),
            FLOATING,
            errors=adaptive_errors(ndim),
        ),
        info(
            f"fractional_max_{of}",
            fractional(ndim),
            references.fractional_max_pool(ndim),
            FLOATING,
            errors=fractional_errors(ndim),
        ),
        info(
            f"max_un{of}",
            unpooled(ndim),
            references.put(ndim),
            FLOATING,
            errors=unpool_errors(ndim),
        ),
        info(
            f"max_{of}_with_indices_backward",
            maximal_gradients(ndim),
            references.added_back(ndim),
            FLOATING,
            errors=wrong_gradient(ndim, twice, twice, none, ones, False),
        ),
        info(
            f"avg_{of}_backward",
            average_gradients(ndim),
            references.adjoint(avg_pool),
            FLOATING,
            errors=wrong_gradient(ndim, twice, twice, none, False, True, None, places=False),
            tolerances=LOOSE,
        ),
        info(
            f"_adaptive_avg_{of}_backward",
            adaptive_average_gradients(ndim),
            lambda grad, x: references.adjoint(lambda unit: adaptive_avg(unit, grad.shape[-ndim:]))(
                grad, x
            ),
            FLOATING,
            errors=wrong_gradient(ndim, places=False),
            tolerances=LOOSE,
        ),
        info(
            f"adaptive_max_{of}_backward",
            adaptive_maximum_gradients(ndim),
            references.added_back(ndim),
            FLOATING,
            errors=wrong_gradient(ndim),
        ),
        info(
            f"fractional_max_{of}_backward",
            fractional_gradients(ndim),
            references.added_back(ndim),
            FLOATING,
            errors=wrong_gradient(ndim, twice, ones),
        ),
    ]


def first_of(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: function(*args)[0]


OP_INFOS = [
    *_of_images(2),
    *_of_images(3),
    info(
        "max_pool1d_with_indices",
        maximal(1),
        references.max_pool(1),
        REAL_NUMBERS,
        errors=line_errors("max_pool1d"),
    ),
    info(
        "max_pool1d",
        maximal(1),
        first_of(references.max_pool(1)),
        REAL_NUMBERS,
        errors=line_errors("max_pool1d"),
    ),
    info(
        "avg_pool1d",
        averages(1),
        references.avg_pool(1),
        REAL_NUMBERS,
        errors=line_errors("avg_pool1d"),
        tolerances=LOOSE,
    ),
    info(
        "adaptive_avg_pool1d",
        adaptive(1),
        references.adaptive_avg_pool(1),
        FLOATING,
        errors=adaptive_line_errors("adaptive_avg_pool1d"),
        tolerances=LOOSE,
    ),
    info(
        "adaptive_max_pool1d",
        adaptive(1),
        references.adaptive_max_pool(1),
        FLOATING,
        errors=adaptive_line_errors("adaptive_max_pool1d"),
    ),
]
