"""Samples of a step of an LSTM that is one operator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dovetail_dispatcher.testing import SampleInput, TensorMaker

from ..samples import refusals


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def fused_cells(make: TensorMaker) -> Iterator[SampleInput]:
    for lead in ((2,), (3, 1), (0,)):
        gates, cell = (*lead, 8), (*lead, 2)
        yield SampleInput(make(*gates), make(*gates), make(*cell))
        yield SampleInput(make(*gates), make(*gates), make(*cell), make(8), make(8))


def fused_cell_reference(*operands: Any) -> Any:
    given, own, cell, *biases = [np.asarray(each, np.float64) for each in operands]
    i, f, g, o = np.split(sum(biases, given + own), 4, -1)
    shown = [sigmoid(i), sigmoid(f), np.tanh(g), sigmoid(o)]
    cell = shown[1] * cell + shown[0] * shown[2]
    found = (shown[3] * np.tanh(cell), cell, np.concatenate(shown, -1))
    return tuple(each.astype(operands[0].dtype) for each in found)


UNFIT_FUSED_CELLS = refusals(
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
)
