"""Samples of connectionist temporal classification."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby, product
from typing import Any

import numpy as np

from dovetail_dispatcher.testing import SampleInput, Skip, TensorMaker
from dovetail_kernel import float32, float64, int64

from ..losses.samples import MEAN, REDUCTIONS, reduced
from ..makers import indices, is_inexact, op_info, refusals

info = partial(op_info, family="ctc", dtypes=frozenset({float32, float64}), supports_gradgrad=False)

TARGETS = [[1, 2], [3, 3]]
TIME = 4


def probabilities(make: TensorMaker, *shape: int) -> Any:
    """Return logarithms of probabilities that do not add up to 1: derivatives do not need it."""
    return make(shape, low=-2, high=-0.5)


def given(lengths: bool = False) -> Any:
    def as_given(make: TensorMaker, values: Sequence[int]) -> Any:
        return make.values(values, int64) if lengths else values

    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for reduction in REDUCTIONS:
            yield SampleInput(
                probabilities(make, TIME, 2, 4),
                indices(make, TARGETS),
                as_given(make, [4, 3]),
                as_given(make, [2, 1]),
                0,
                reduction,
            )
        if not lengths:
            joined = indices(make, [1, 2, 0])
            yield SampleInput(probabilities(make, TIME, 2, 4), joined, [4, 4], [2, 1], 3)
        single = as_given(make, [4]), as_given(make, [2])
        yield SampleInput(probabilities(make, TIME, 4), indices(make, [1, 1]), *single)

    return samples


def likelihood(x: np.ndarray, target: Sequence[int], blank: int) -> float:
    """Return minus the logarithm of the probability of a target: that of every path that shows
    it.
    """
    total = 0.0
    for path in product(range(x.shape[1]), repeat=len(x)):
        shown = [label for label, _ in groupby(path) if label != blank]
        if shown == target:
            total += math.exp(sum(row[label] for row, label in zip(x, path, strict=True)))
    return -math.log(total)


def ctc_loss(
    x: np.ndarray,
    targets: np.ndarray,
    inputs: np.ndarray | Sequence[int],
    lengths: np.ndarray | Sequence[int],
    blank: int = 0,
    reduction: int = MEAN,
    zero_infinity: bool = False,
) -> Any:
    single = x.ndim == 2
    x = x[:, None] if single else x
    counts = [int(length) for length in lengths]
    starts = [sum(counts[:n]) for n in range(len(counts))]
    flat = targets.astype(int)
    rows = (
        flat if flat.ndim == 2 else [flat[a : a + n] for a, n in zip(starts, counts, strict=True)]
    )
    losses = np.array(
        [
            likelihood(x[: int(time), n], [int(label) for label in rows[n][:count]], blank)
            for n, (time, count) in enumerate(zip(inputs, counts, strict=True))
        ]
    )
    return reduced(losses / np.maximum(counts, 1) if reduction == MEAN else losses, reduction)


def forwards(make: TensorMaker) -> Iterator[SampleInput]:
    for targets, lengths in ((TARGETS, [2, 1]), ([1, 2, 3], [2, 1])):
        labels = indices(make, targets)
        yield SampleInput(probabilities(make, TIME, 2, 4), labels, [4, 3], lengths, 0, False)


def backwards(make: TensorMaker) -> Iterator[SampleInput]:
    """Yield gradients with what the forward operator gives to a single path."""
    x = make((1, 1, 2), low=-2, high=-0.5, requires_grad=False)
    loss = x[0, :, 1] * -1 if is_inexact(make) else x[0, :, 1]
    alpha = x[:, :, [0, 1, 0]]
    yield SampleInput(make(1), x, indices(make, [[1]]), [1], [1], loss, alpha, 0, False)


no_blank = (
    lambda make: SampleInput(make(4, 2, 3), indices(make, TARGETS), [4, 4], [2, 2], 7),
    RuntimeError,
    "blank must be in label range",
)
too_long = (
    lambda make: SampleInput(make(4, 2, 4), indices(make, TARGETS), [5, 4], [2, 2]),
    RuntimeError,
    "Expected input_lengths to have value at most 4, but got value 5",
)
too_few = (
    lambda make: SampleInput(make(4, 2, 4), indices(make, TARGETS), [4], [2, 2]),
    RuntimeError,
    "input_lengths must be of size batch_size",
)

OF_SOFTMAX = "the gradient is that of what log_softmax made the input of"
GRADIENTS = tuple([Skip(check, OF_SOFTMAX) for check in ("gradients", "forward_ad")])
LENGTHS = tuple(
    [
        Skip(check, "lengths are read as numbers")
        for check in ("meta", "meta_strides", "meta_gradients", "vmap")
    ]
)

OP_INFOS = [
    info(
        "ctc_loss.IntList",
        given(),
        ctc_loss,
        errors=refusals(no_blank, too_long, too_few),
        skips=GRADIENTS,
    ),
    info("ctc_loss.Tensor", given(lengths=True), ctc_loss, skips=(*GRADIENTS, *LENGTHS)),
    info("_ctc_loss", forwards, None, skips=GRADIENTS),
    info("_ctc_loss_backward", backwards, None, supports_autograd=False),
]
