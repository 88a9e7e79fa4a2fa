"""Calls of pooling and unpooling that are refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_dispatcher.testing import SampleInput, TensorMaker
from dovetail_kernel import dtype as DType
from dovetail_kernel import float64, int64

from ..makers import Errors, refusals


def one(text: str, *shape: int, how: tuple[object, ...]) -> Any:
    return lambda make: SampleInput(make(shape), *how), RuntimeError, text


def pool_errors(ndim: int) -> Errors:
    sizes = (4,) * ndim
    return refusals(
        one("must either be a single int", 1, 1, *sizes, how=((2,) * (ndim + 1),)),
        one("pad must be non-negative", 1, 1, *sizes, how=((2,) * ndim, (), (-1,))),
        one("pad should be at most half of", 1, 1, *sizes, how=((2,) * ndim, (), (2,))),
        one("stride should be greater than zero", 1, 1, *sizes, how=((2,) * ndim, (0,))),
        one("Output size is too small", 1, 1, *sizes, how=((5,) * ndim,)),
        one("tensor expected for input", 1, 1, 1, *sizes, how=((2,) * ndim,)),
        one("tensor with optional 0 dim batch size", 1, 0, *sizes, how=((2,) * ndim,)),
    )


def line_errors(name: str) -> Errors:
    return refusals(
        one(f"{name}: Expected 2D or 3D", 4, how=((2,),)),
        one(r"kernel_size must be an int, list of ints", 1, 1, 4, how=((2, 2),)),
        one("pad should be at most half of", 1, 1, 4, how=((2,), (), (2,))),
    )


def adaptive_errors(ndim: int) -> Errors:
    return refusals(
        one("output_size must be", 1, 1, *(4,) * ndim, how=((2,) * (ndim + 1),)),
        one("greater than or equal to 0", 1, 1, *(4,) * ndim, how=((-1,) * ndim,)),
        one("to have non-zero size", 1, 1, *(0,) * ndim, how=((2,) * ndim,)),
    )


def adaptive_line_errors(name: str) -> Errors:
    return refusals(
        one("Expected 2 to 3 dimensions", 4, how=((2,),)),
        one("should contain one int", 1, 1, 4, how=((2, 2),)),
    )


def fractional_errors(ndim: int) -> Errors:
    kernel, numbers = (2,) * ndim, (2,) * ndim

    def call(
        *shape: int, sizes: tuple[int, ...] = numbers, samples: Sequence[int] = (1, 2, ndim)
    ) -> Any:
        return lambda make: SampleInput(make(shape), kernel, sizes, make(samples))

    four = (4,) * ndim
    return refusals(
        (call(1, 2, *four, sizes=(4,) * ndim), RuntimeError, "too large relative to input"),
        (call(1, 2, *four, samples=(1, 2, 1)), RuntimeError, rf"size\(2\) equals to {ndim}; got 1"),
        (call(1, 2, *four, samples=(1, 3, ndim)), RuntimeError, "equals to input channel size"),
        (call(2, 2, *four), RuntimeError, "no less then input batch size"),
        (call(1, 2, *four, samples=(2, ndim)), RuntimeError, "to have 3 dimensions, got 2"),
    )


def unpool_errors(ndim: int) -> Errors:
    how = () if ndim == 2 else ((1,) * ndim, (0,) * ndim)

    def call(
        places: Sequence[int], size: int = 1, count: int | None = None, dtype: DType = int64
    ) -> Any:
        return lambda make: SampleInput(
            make(1, 1, *(1,) * (ndim - 1), 2),
            make.values(places, dtype).reshape(1, 1, *(1,) * (ndim - 1), size),
            (2,) * (count or ndim),
            *how,
        )

    return refusals(
        (call([0, 100], 2), RuntimeError, "Found an invalid max index: 100"),
        (call([0, -1], 2), RuntimeError, "Found an invalid max index: -1"),
        (call([0]), RuntimeError, "Expected shape of indices to be same as that of the input"),
        (call([0, 1], 2, ndim + 1), RuntimeError, "There should be exactly"),
        (call([0, 1], 2, dtype=float64), RuntimeError, "elements in indices should be type int64"),
    )


def wrong_gradient(ndim: int, *how: Any, places: bool = True) -> Errors:
    def call(make: TensorMaker) -> SampleInput:
        shape = (2, 1, *(1,) * ndim)
        more = [make.values([0, 0], int64).reshape(shape)] if places else []
        return SampleInput(make(shape), make(1, 1, *(2,) * ndim), *how, *more)

    return refusals((call, RuntimeError, "expected the gradient to have shape"))
