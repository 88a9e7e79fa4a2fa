"""Samples of a step of an LSTM that is one operator, and of all steps of a layer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dovetail_dispatcher.testing import SampleInput, TensorMaker
from dovetail_kernel import float16

from ..makers import refusals


def sigmoid(x: np.ndarray) -> Any:
    return 1 / (1 + np.exp(-x))


def cells(make: TensorMaker) -> Iterator[SampleInput]:
    for lead in ((2,), (3, 1), (0,)):
        gates, cell = (*lead, 8), (*lead, 2)
        yield SampleInput(make(*gates), make(*gates), make(*cell))
        yield SampleInput(make(*gates), make(*gates), make(*cell), make(8), make(8))


def cell_reference(*operands: Any) -> Any:
    given, own, cell, *biases = [np.asarray(each, np.float64) for each in operands]
    i, f, g, o = np.split(sum(biases, given + own), 4, -1)
    shown = [sigmoid(i), sigmoid(f), np.tanh(g), sigmoid(o)]
    cell = shown[1] * cell + shown[0] * shown[2]
    found = (shown[3] * np.tanh(cell), cell, np.concatenate(shown, -1))
    return tuple(each.astype(operands[0].dtype) for each in found)


UNFIT = refusals(
    (
        lambda make: SampleInput(make(2, 7), make(2, 7), make(2, 2)),
        RuntimeError,
        r"Expected input_gates of shape \[2, 8\]",
    ),
    (
        lambda make: SampleInput(make(2, 8), make(3, 8), make(2, 2)),
        RuntimeError,
        r"Expected hidden_gates of shape \[2, 8\]",
    ),
    (
        lambda make: SampleInput(make(2, 8), make(2, 8), make(2, 2), make(4)),
        RuntimeError,
        "Expected a bias of 8 numbers",
    ),
    (
        lambda make: SampleInput(make(2, 8), make(2, 8), make(2, 2, dtype=float16)),
        RuntimeError,
        "Expected cx of dtype",
    ),
    (
        lambda make: SampleInput(make(2, 8), make(2, 8, dtype=float16), make(2, 2)),
        RuntimeError,
        "Expected hidden_gates of dtype",
    ),
    (
        lambda make: SampleInput(
            *(make(2, 8), make(2, 8), make(2, 2), None, make(8, dtype=float16))
        ),
        RuntimeError,
        "Expected a bias of dtype",
    ),
)


def sequences(make: TensorMaker) -> Iterator[SampleInput]:
    for steps, batch in ((3, 2), (1, 2), (2, 0)):
        gates, state = make(steps, batch, 8), (batch, 2)
        yield SampleInput(gates, make(*state), make(*state), make(8, 2))
        yield SampleInput(gates, make(*state), make(*state), make(8, 2), make(8), True)


def sequence_reference(
    gates: Any, hidden: Any, cell: Any, weight: Any, bias: Any = 0, reverse: bool = False
) -> Any:
    made = []
    for step in gates[::-1] if reverse else gates:
        made.append(cell_reference(step, hidden @ weight.T + bias, cell))
        hidden, cell, _ = made[-1]
    return tuple(np.stack(each[::-1] if reverse else each) for each in zip(*made, strict=True))


UNFIT_SEQUENCES = refusals(
    (
        lambda make: SampleInput(make(3, 8), make(2), make(2), make(8, 2)),
        RuntimeError,
        "Expected cx of at least 2 dimensions",
    ),
    (
        lambda make: SampleInput(make(3, 2, 7), make(2, 2), make(2, 2), make(8, 2)),
        RuntimeError,
        r"of shape \(steps, 2, 8\), but got \[3, 2, 7\]",
    ),
    (
        lambda make: SampleInput(make(0, 2, 8), make(2, 2), make(2, 2), make(8, 2)),
        RuntimeError,
        "Expected gates of at least one step",
    ),
    (
        lambda make: SampleInput(make(3, 2, 8), make(1, 2), make(2, 2), make(8, 2)),
        RuntimeError,
        r"Expected hx of the shape of cx, \[2, 2\]",
    ),
    (
        lambda make: SampleInput(make(3, 2, 8), make(2, 2), make(2, 2), make(8, 3)),
        RuntimeError,
        r"Expected a weight of shape \[8, 2\]",
    ),
    (
        lambda make: SampleInput(make(3, 2, 8), make(2, 2), make(2, 2), make(8, 2), make(4)),
        RuntimeError,
        "Expected a bias of 8 numbers",
    ),
)
