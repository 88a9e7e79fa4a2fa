"""Samples of normalization, and of its gradients."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from dovetail_dispatcher.testing import SampleInput, Skip, TensorMaker
from dovetail_kernel import float64

from ..makers import FLOATING, INEXACT, Samples, is_inexact, op_info, refusals, refused
from .layer_norm import LAYER_NORM, LOOSE, MOMENTS

info = partial(op_info, family="normalization", tolerances=LOOSE)

CONSTANT: dict[str, Any] = {"low": 0.5, "high": 2, "requires_grad": False}
FOLLOWING = "running statistics follow"
SHAPES = ((4, 3), (2, 3, 4), (2, 3, 2, 2))


def column(x: Any, ndim: int) -> Any:
    return np.reshape(x, (1, -1, *(1,) * (ndim - 2)))


def others(x: np.ndarray) -> tuple[int, ...]:
    return (0, *range(2, x.ndim))


# -- over the batch --------------------------------------------------------------------------------


def batches(
    *more: Any, statistics: bool = True, modes: tuple[object, ...] = (True, False)
) -> Samples:
    """Return inputs with weights, running statistics and whether to train, unless a mode is None,
    and the other arguments.
    """

    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for shape in SHAPES:
            for mode in modes:
                parameters = [make(3), make(3)] if mode is not False else [None, None]
                running = [make(3, **CONSTANT), make(3, **CONSTANT)] if statistics else []
                given = [] if mode is None else [mode]
                sample = SampleInput(make(shape), *parameters, *running, *given, *more)
                follows = statistics and mode is not False
                yield sample.with_metadata(name=FOLLOWING) if follows else sample

    return samples


def normalized(
    x: np.ndarray,
    weight: np.ndarray | None,
    bias: np.ndarray | None,
    mean: np.ndarray,
    var: np.ndarray,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Any, ...]:
    """Return what batch normalization does, and the new running statistics."""
    if training:
        own, spread = x.mean(others(x)), x.var(others(x))
        unbiased = x.var(others(x), ddof=1)
        running = [(1 - momentum) * a + momentum * b for a, b in ((mean, own), (var, unbiased))]
    else:
        own, spread, running = mean, var, [mean, var]
    rstd = 1 / np.sqrt(spread + eps)
    made = (x - column(own, x.ndim)) * column(rstd, x.ndim)
    made = made if weight is None else made * column(weight, x.ndim)
    made = made if bias is None else made + column(bias, x.ndim)
    none = np.zeros(0)
    return made, own if training else none, rstd if training else none, *running


def batch_norm(*args: Any) -> Any:
    return normalized(*args[:-1])[0]


def native_batch_norm(*args: Any) -> Any:
    return normalized(*args)[:3]


def without_statistics(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None, *args: Any
) -> Any:
    return native_batch_norm(x, weight, bias, np.zeros(3), np.ones(3), *args)


def no_training(*args: Any) -> Any:
    return native_batch_norm(*args[:5], False, *args[5:])


def with_update(*args: Any) -> Any:
    return *native_batch_norm(*args[:5], True, *args[5:]), np.zeros(0)


def no_update(*args: Any) -> Any:
    return *no_training(*args), np.zeros(0)


def batch_gradients(make: TensorMaker) -> Iterator[SampleInput]:
    """Yield gradients with the moments of the input, which the formula takes for granted."""
    for shape, train in (((4, 3), True), ((2, 3, 2), True), ((2, 3, 2), False)):
        x = make(shape)
        flat = x.detach() if is_inexact(make) else x.to(float64)
        dims = (0, *range(2, len(shape)))
        mean, spread = flat.mean(dims), flat.var(dims, correction=0)
        running = (None, None) if train else (make(3, **CONSTANT), make(3, **CONSTANT))
        saved = (mean, spread.add(1e-5).rsqrt()) if train else (None, None)
        yield SampleInput(make(shape), x, make(3), *running, *saved, train, 1e-5, (True,) * 3)


few_weights = (
    lambda make: SampleInput(make(2, 3), make(2), None, None, None, True, 0.1, 1e-5, False),
    RuntimeError,
    "weight should contain 3 elements not 2",
)
no_statistics = (
    lambda make: SampleInput(make(2, 3), None, None, None, None, False, 0.1, 1e-5, False),
    RuntimeError,
    "running_mean must be defined in evaluation mode",
)
no_channels = (
    lambda make: SampleInput(make(2), None, None, None, None, True, 0.1, 1e-5, False),
    IndexError,
    "Dimension out of range",
)

# -- of samples and groups -------------------------------------------------------------------------


def instances(make: TensorMaker) -> Iterator[SampleInput]:
    for shape in SHAPES[1:]:
        yield SampleInput(make(shape), make(3), make(3), None, None, True, 0.1, 1e-5, False)
        running = make(3, **CONSTANT), make(3, **CONSTANT)
        yield SampleInput(make(shape), None, None, *running, False, 0.1, 1e-5, False)


def instance_norm(
    x: np.ndarray,
    weight: np.ndarray | None,
    bias: np.ndarray | None,
    mean: np.ndarray | None,
    var: np.ndarray | None,
    training: bool,
    *args: Any,
) -> Any:
    rows = x.reshape(1, -1, *x.shape[2:])
    many = [None if each is None else np.tile(each, len(x)) for each in (weight, bias, mean, var)]
    zeros = np.zeros(rows.shape[1])
    many[2:] = [zeros, zeros] if training else many[2:]
    return batch_norm(rows, *many, training, *args).reshape(x.shape)


def groups(make: TensorMaker) -> Iterator[SampleInput]:
    for shape, count in (((2, 4), 2), ((2, 4, 3), 4), ((1, 4, 2, 2), 1), ((0, 4, 2), 2)):
        yield SampleInput(make(shape), count, make(4), make(4), 1e-5)
    yield SampleInput(make(2, 4, 3), 2)


def group_norm(
    x: np.ndarray,
    count: int,
    weight: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    eps: float = 1e-5,
) -> Any:
    length = int(np.prod(x.shape[2:]))
    return native_group_norm(x, weight, bias, x.shape[0], x.shape[1], length, count, eps)[0]


def native_groups(make: TensorMaker) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 4), make(4), make(4), 2, 4, 1, 2, 1e-5)
    yield SampleInput(make(2, 4, 3), None, None, 2, 4, 3, 4, 1e-3)
    yield SampleInput(make(1, 4, 2, 2), make(4), None, 1, 4, 4, 1, 1e-5)


def native_group_norm(
    x: Any, weight: Any, bias: Any, n: int, c: int, length: int, count: int, eps: float
) -> Any:
    rows = x.reshape(n, count, c // count * length)
    mean, rstd = rows.mean(2), 1 / np.sqrt(rows.var(2) + eps)
    made = ((rows - mean[..., None]) * rstd[..., None]).reshape(x.shape)
    made = made if weight is None else made * column(weight, x.ndim)
    return made if bias is None else made + column(bias, x.ndim), mean, rstd


def group_gradients(make: TensorMaker) -> Iterator[SampleInput]:
    """Yield gradients with the moments of the input, which the formula takes for granted."""
    for shape, count in (((2, 4, 3), 2), ((2, 4), 1)):
        x = make(shape)
        flat = (x.detach() if is_inexact(make) else x.to(float64)).reshape(2, count, -1)
        rstd = flat.var(2, correction=0).add(1e-5).rsqrt()
        sizes = (2, 4, 3 if len(shape) > 2 else 1, count)
        yield SampleInput(make(shape), x, flat.mean(2), rstd, make(4), *sizes, (True,) * 3)


def squares(make: TensorMaker) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 4), (4,), make(4), 1e-5)
    yield SampleInput(make(2, 2, 3), (2, 3))
    yield SampleInput(make(4), (4,), make(4))
    yield SampleInput(make(0, 4), (4,))


def rms_norm(
    x: np.ndarray, shape: Any, weight: np.ndarray | None = None, eps: float | None = None
) -> Any:
    small = np.finfo(x.dtype).eps if eps is None else eps
    dims = tuple(range(-len(shape), 0))
    made = x / np.sqrt((x * x).mean(dims, keepdims=True) + small)
    return made if weight is None else made * weight


WRITTEN = "PyTorch's schema does not say that running statistics are written"
ONE_FOR_ALL = "the running statistics, which are written, are not those of one sample of the batch"
UNDECLARED = tuple([Skip(check, WRITTEN, sample=FOLLOWING) for check in ("layouts", "schema")])
UPDATES = tuple(
    [
        Skip(check, ONE_FOR_ALL, sample=FOLLOWING)
        for check in ("vmap", "vmap_gradients", "vmap_of_gradients")
    ]
)
FIRST = Skip("vmap", "the check takes the first argument for the one that is written")
ALWAYS = tuple([Skip(skip.check, ONE_FOR_ALL) for skip in UPDATES])
GRADIENTS = tuple([Skip(check, MOMENTS) for check in ("gradients", "forward_ad", "gradgrad")])
STEP = (0.1, 1e-5)

OP_INFOS = [
    *LAYER_NORM,
    info(
        "batch_norm",
        batches(*STEP, False),
        batch_norm,
        FLOATING,
        errors=refusals(few_weights, no_statistics, no_channels),
        skips=(*UNDECLARED, *UPDATES),
    ),
    info(
        "native_batch_norm",
        batches(*STEP),
        native_batch_norm,
        FLOATING,
        skips=(*UNDECLARED, *UPDATES),
    ),
    info(
        "_native_batch_norm_legit",
        batches(*STEP),
        native_batch_norm,
        FLOATING,
        skips=(FIRST, *UPDATES[1:]),
    ),
    info(
        "_native_batch_norm_legit.no_stats",
        batches(*STEP, statistics=False, modes=(True,)),
        without_statistics,
        FLOATING,
    ),
    info(
        "_native_batch_norm_legit_no_training", batches(*STEP, modes=(None,)), no_training, FLOATING
    ),
    info(
        "_batch_norm_with_update",
        batches(*STEP, modes=(None,)),
        with_update,
        FLOATING,
        skips=ALWAYS,
    ),
    info("_batch_norm_no_update", batches(*STEP, modes=(None,)), no_update, FLOATING),
    info("_native_batch_norm_legit_functional", batches(*STEP), normalized, FLOATING),
    info(
        "instance_norm",
        instances,
        instance_norm,
        FLOATING,
        errors=refused(
            lambda make: SampleInput(make(2, 3, 4), None, None, None, None, False, *STEP, False),
            RuntimeError,
            "Expected running_mean and running_var to be defined when use_input_stats is false",
        ),
    ),
    info(
        "group_norm",
        groups,
        group_norm,
        FLOATING,
        errors=refusals(
            (
                lambda make: SampleInput(make(2, 3), 2),
                RuntimeError,
                "Expected number of channels in input to be divisible by num_groups",
            ),
            (lambda make: SampleInput(make(3), 1), IndexError, "Dimension out of range"),
            (
                lambda make: SampleInput(make(2, 4), 2, make(2)),
                RuntimeError,
                "Expected weight to be a vector of size equal to the number of channels in input",
            ),
        ),
    ),
    info("native_group_norm", native_groups, native_group_norm, FLOATING),
    info(
        "rms_norm",
        squares,
        rms_norm,
        INEXACT,
        errors=refusals(
            (
                lambda make: SampleInput(make(2, 3), (2,)),
                RuntimeError,
                r"Given normalized_shape=\[2\], expected input with shape",
            ),
            (
                lambda make: SampleInput(make(2, 3), ()),
                RuntimeError,
                "Expected normalized_shape to be at least 1-dimensional",
            ),
        ),
    ),
    info("native_batch_norm_backward", batch_gradients, None, FLOATING, skips=GRADIENTS),
    info("native_group_norm_backward", group_gradients, None, FLOATING, skips=GRADIENTS),
]
