"""Samples of factories, and of operators that fill."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from dovetail_aten.typing import Scalar
from dovetail_dispatcher.testing import SampleInput, TensorMaker
from dovetail_kernel import float32, float64, int32

from ..makers import (
    BROADCAST,
    NUMBERS,
    REAL_NUMBERS,
    Samples,
    is_inexact,
    op_info,
    refusals,
    refused,
    smooth,
)

info = partial(op_info, family="creation", supports_autograd=False)


def made(*rows: tuple[Any, ...]) -> Samples:
    """Return calls that make a tensor of the samples' dtype, on their device."""
    return lambda make: [SampleInput(*row, dtype=make.dtype, device=make.device) for row in rows]


def like(*args: Any) -> Samples:
    """Return tensors that others are made like, also in another order in memory."""

    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        yield from smooth(*args)(make)
        yield SampleInput(make(2, 3).t(), *args)
        yield SampleInput(make(2, 3), *args, dtype=int32)

    return samples


def sized(*args: Any) -> Samples:
    return lambda make: [SampleInput(make(3), size, *args) for size in ((2, 3), (), (0, 2))]


def sized_and_strided(make: TensorMaker) -> Iterator[SampleInput]:
    for size, stride in (((2, 3), (1, 2)), ((), ()), ((0, 3), (3, 1))):
        yield SampleInput(make(3), size, stride)


def constant(value: Scalar | None) -> Callable[..., Any]:
    return lambda size, *args, **kwargs: np.full(size, args[0] if args else value)


def fills(number: bool) -> Samples:
    return lambda make: [
        SampleInput(make(shape), 1 if number else make(())) for shape in ((2, 3), (), (0, 3))
    ]


def steps(make: TensorMaker) -> Iterator[SampleInput]:
    options = {"dtype": make.dtype, "device": make.device}
    yield SampleInput(0, 5, 2, **options)
    yield (
        SampleInput(5, 0, -2, **options)
        if make.dtype.is_signed
        else SampleInput(2, 9, 3, **options)
    )
    if is_inexact(make):
        yield SampleInput(0, 1, 0.25, **options)


def parts(make: TensorMaker) -> Iterator[SampleInput]:
    for first, second in BROADCAST:
        yield SampleInput(make(first), make(second))


REAL_PARTS = frozenset({float32, float64})
SIZES = (((2, 3),), ((),), ((0, 3),))
negative = refused(lambda make: SampleInput((2, -1)), RuntimeError, "negative dimension -1")
UNWRITTEN: dict[str, Any] = {"is_random": True}

OP_INFOS = [
    info("empty.memory_format", made(*SIZES), errors=negative, **UNWRITTEN),
    info("empty_strided", made(((2, 3), (1, 2)), ((), ()), ((0, 3), (3, 1))), **UNWRITTEN),
    info("zeros", made(*SIZES), constant(0), errors=negative),
    info("ones", made(*SIZES), constant(1), errors=negative),
    info("full", made(((2, 3), 1), ((), 0), ((0, 2), 1)), constant(None)),
    info("arange", made((5,), (0,), (1,)), lambda end, **kwargs: np.arange(end), REAL_NUMBERS),
    info(
        "arange.start", made((1, 4), (2, 2)), lambda *args, **kwargs: np.arange(*args), REAL_NUMBERS
    ),
    info(
        "arange.start_step",
        steps,
        lambda *args, **kwargs: np.arange(*args),
        REAL_NUMBERS,
        errors=refused(lambda make: SampleInput(0, 1, 0), RuntimeError, "step must be nonzero"),
    ),
    info(
        "linspace",
        made((0, 8, 5), (1, 1, 1), (2, 0, 3), (0, 1, 0)),
        lambda *args, **kwargs: np.linspace(*args),
        NUMBERS,
        errors=refused(
            lambda make: SampleInput(0, 1, -1), RuntimeError, "number of steps must be non-negative"
        ),
    ),
    info(
        "logspace",
        made((0, 2, 3), (1, 1, 1), (0, 3, 4, 2.0), (0, 1, 0)),
        lambda start, end, steps, base=10.0, **kwargs: np.logspace(start, end, steps, base=base),
        NUMBERS,
        errors=refused(
            lambda make: SampleInput(0, 1, -1), RuntimeError, "number of steps must be non-negative"
        ),
    ),
    info(
        "empty_permuted",
        made(((2, 3), (1, 0)), ((2, 3, 4), (0, 2, 1)), ((), ()), ((0, 3), (1, 0))),
        errors=refusals(
            (
                lambda make: SampleInput((2, 3), (0,)),
                RuntimeError,
                "Number of dimensions in size does not match the length of the physical_layout",
            ),
            (
                lambda make: SampleInput((2, 3), (0, 2)),
                RuntimeError,
                "expected to be between 0 and 1, but got 2 at index 1",
            ),
            (lambda make: SampleInput((2, 3), (0, 0)), RuntimeError, "Duplicate dim not allowed"),
        ),
        **UNWRITTEN,
    ),
    *[
        info(
            name,
            fills(name == "fill.Scalar"),
            lambda x, value: np.full(x.shape, value, x.dtype),
            supports_autograd=True,
            errors=errors,
        )
        for name, errors in (
            ("fill.Scalar", None),
            (
                "fill.Tensor",
                refused(
                    lambda make: SampleInput(make(2), make(2)),
                    RuntimeError,
                    "fill_ only supports 0-dimension value tensor",
                ),
            ),
        )
    ],
    info(
        "complex",
        parts,
        lambda real, imag: real + 1j * imag,
        REAL_PARTS,
        supports_autograd=True,
        errors=refusals(
            (
                lambda make: SampleInput(make(2), make(2, dtype=float64)),
                RuntimeError,
                "Expected object of scalar type Float but got scalar type Double",
            ),
            (
                lambda make: SampleInput(make(2, dtype=int32), make(2)),
                RuntimeError,
                "Expected both inputs to be Half, Float or Double tensors but got Int and Float",
            ),
            (lambda make: SampleInput(make(2), make(3)), RuntimeError, "must match the size"),
        ),
    ),
    info(
        "polar",
        parts,
        lambda length, angle: length * np.exp(1j * angle),
        REAL_PARTS,
        supports_autograd=True,
        errors=refused(
            lambda make: SampleInput(make(2), make(2, dtype=float64)),
            RuntimeError,
            "Expected object of scalar type Float but got scalar type Double",
        ),
    ),
    info("eye", made((3,), (0,)), lambda n, **kwargs: np.eye(n)),
    info("scalar_tensor", made((1,), (0,)), lambda s, **kwargs: np.asarray(s)),
    info("zeros_like", like(), lambda x, **kwargs: np.zeros(x.shape)),
    info("ones_like", like(), lambda x, **kwargs: np.ones(x.shape)),
    info("full_like", like(1), lambda x, value, **kwargs: np.full(x.shape, value)),
    info("empty_like", like(), **UNWRITTEN),
    info("new_empty", sized(), **UNWRITTEN),
    info("new_empty_strided", sized_and_strided, **UNWRITTEN),
    info("new_zeros", sized(), lambda x, size: np.zeros(size)),
    info("new_ones", sized(), lambda x, size: np.ones(size)),
    info("new_full", sized(1), lambda x, size, value: np.full(size, value)),
    info(
        "fill_.Scalar",
        fills(True),
        lambda x, value: np.full(x.shape, value),
        supports_autograd=True,
    ),
    info(
        "fill_.Tensor",
        fills(False),
        lambda x, value: np.full(x.shape, value),
        supports_autograd=True,
        errors=refused(
            lambda make: SampleInput(make(2), make(2)), RuntimeError, "fill_ only supports 0-dim"
        ),
    ),
    info("zero_", smooth(), lambda x: np.zeros(x.shape), supports_autograd=True),
]
