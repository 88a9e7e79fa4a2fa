"""Samples of recurrent networks, and of sequences of different lengths."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from dovetail_dispatcher.testing import SampleInput, Skip, TensorMaker
from dovetail_kernel import bfloat16, float16

from ..makers import BY_VALUES, FLOATING, INEXACT, NO_SHAPE, Samples, indices, op_info, refusals
from . import fused_cells as fused

ROUNDED = {float16: (1e-2, 1e-2), bfloat16: (8e-2, 8e-2)}
info = partial(op_info, family="recurrent", domain=(-0.7, 0.7), tolerances=ROUNDED)

SKIPS = (
    *BY_VALUES,
    NO_SHAPE,
    Skip("meta_gradients", "what it gives depends on values"),
    Skip("layouts", "sizes have to fall, and an expanded tensor repeats one of them"),
)

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
DTYPES = {"lstm": INEXACT, "gru": INEXACT, "rnn_tanh": INEXACT, "rnn_relu": FLOATING}
PROJECTED = 3


# -- references ------------------------------------------------------------------------------------


def sigmoid(x: np.ndarray) -> Any:
    return 1 / (1 + np.exp(-x))


def next_state(
    name: str, x: Any, state: list[Any], w_ih: Any, w_hh: Any, b_ih: Any = 0, b_hh: Any = 0
) -> list[Any]:
    """Return the reference of a cell."""
    given = x @ w_ih.T + (0 if b_ih is None else b_ih)
    own = state[0] @ w_hh.T + (0 if b_hh is None else b_hh)
    if name == "lstm":
        i, f, g, o = np.split(given + own, 4, -1)
        cell = sigmoid(f) * state[1] + sigmoid(i) * np.tanh(g)
        return [sigmoid(o) * np.tanh(cell), cell]
    if name == "gru":
        (r, z, n), (own_r, own_z, own_n) = np.split(given, 3, -1), np.split(own, 3, -1)
        new = np.tanh(n + sigmoid(r + own_r) * own_n)
        kept = sigmoid(z + own_z)
        return [(1 - kept) * new + kept * state[0]]
    return [np.tanh(given + own) if name == "rnn_tanh" else np.maximum(given + own, 0)]


def wide(arrays: Any) -> Any:
    return [None if each is None else wide_array(each) for each in arrays]


def wide_array(x: np.ndarray) -> Any:
    return np.asarray(x, np.complex128 if np.iscomplexobj(x) else np.float64)


def cell_reference(name: str) -> Callable[..., Any]:
    def reference(x: np.ndarray, hx: np.ndarray, *weights: Any) -> Any:
        states = list(hx) if name == "lstm" else [hx]
        found = next_state(name, wide([x])[0], wide(states), *wide(weights))
        found = [each.astype(x.dtype) for each in found]
        return tuple(found) if name == "lstm" else found[0]

    return reference


def network(
    name: str, sequences: list[Any], hx: Any, params: Any, has_biases: bool, layers: int, both: bool
) -> tuple[list[Any], list[Any]]:
    """Return the reference of a network: outputs ``(steps, features)`` of each sequence, and the
    last states of all.
    """
    states = wide(hx if name == "lstm" else [hx])
    last = [np.zeros_like(each) for each in states]
    outputs = []
    each = len(params) // (layers * (1 + both))
    for n, x in enumerate(sequences):
        for layer in range(layers):
            sides = []
            for direction in range(1 + both):
                place = layer * (1 + both) + direction
                own = wide(params[place * each : (place + 1) * each])
                projection = own.pop() if len(own) % 2 else None
                state = [every[place, n] for every in states]
                found = []
                for step in x[::-1] if direction else x:
                    state = next_state(name, step, state, *own)
                    if projection is not None:
                        state[0] = state[0] @ projection.T
                    found.append(state[0])
                sides.append(np.stack(found[::-1] if direction else found))
                for every, final in zip(last, state, strict=True):
                    every[place, n] = final
            x = np.concatenate(sides, -1)
        outputs.append(x)
    return outputs, last


def padded_reference(name: str) -> Callable[..., Any]:
    def reference(
        x: np.ndarray, hx: np.ndarray, params: Sequence[np.ndarray], biases: bool,
        layers: int, p: float, train: bool, both: bool, batch_first: bool
    ) -> Any:  # fmt: skip
        by_sequence = wide_array(x)
        if not batch_first:
            by_sequence = by_sequence.swapaxes(0, 1)
        outputs, last = network(name, list(by_sequence), hx, params, biases, layers, both)
        found = np.stack(outputs, 0 if batch_first else 1)
        return tuple(each.astype(x.dtype) for each in (found, *last))

    return reference


def packed_reference(name: str) -> Callable[..., Any]:
    def reference(
        data: np.ndarray, sizes: Any, hx: np.ndarray, params: Sequence[np.ndarray], biases: bool,
        layers: int, p: float, train: bool, both: bool
    ) -> Any:  # fmt: skip
        places = [(n, t) for t, size in enumerate(sizes) for n in range(size)]
        rows = dict(zip(places, wide_array(data), strict=True))
        lengths = [sum(size > n for size in sizes) for n in range(sizes[0])]
        sequences = [np.stack([rows[n, t] for t in range(each)]) for n, each in enumerate(lengths)]
        outputs, last = network(name, sequences, hx, params, biases, layers, both)
        found = np.stack([outputs[n][t] for n, t in places])
        return tuple(each.astype(data.dtype) for each in (found, *last))

    return reference


# -- samples ---------------------------------------------------------------------------------------


def width(make: TensorMaker) -> int:
    """Return how many features inputs and states have: few where networks are differentiated
    twice, with finite differences for each.
    """
    return 1 if make.requires_grad else 2


def parameters(
    make: TensorMaker, name: str, layers: int, both: bool, biases: bool, projected: int = 0
) -> list[Any]:
    """Return the parameters of a network whose outputs are projected to so many features, or not
    at all.
    """
    rows, out = GATES[name] * width(make), projected or width(make)
    found = []
    for layer, _ in product(range(layers), range(1 + both)):
        features = out * (1 + both) if layer else width(make)
        found += [make(rows, features), make(rows, out)]
        found += [make(rows), make(rows)] if biases else []
        found += [make(projected, width(make))] if projected else []
    return found


def first_states(make: TensorMaker, name: str, count: int, batch: int, projected: int = 0) -> Any:
    hidden = make(count, batch, projected or width(make))
    return [hidden, make(count, batch, width(make))] if name == "lstm" else hidden


KINDS = ((1, False, True), (1, True, False), (2, False, True), (2, True, True))
"""Layers, whether there are two directions, and whether there are biases."""


def kinds(make: TensorMaker) -> Any:
    """Return the kinds of networks to sample: few where they are differentiated."""
    return [(1, False, True)] if make.requires_grad else KINDS


def padded(name: str) -> Samples:
    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        length, batch = (2, 1) if make.requires_grad else (3, 2)
        for layers, both, biases in kinds(make):
            for batch_first in (both,) if make.requires_grad else (False, True):
                shape = (batch, length) if batch_first else (length, batch)
                yield SampleInput(
                    make(*shape, width(make)),
                    first_states(make, name, layers * (1 + both), batch),
                    parameters(make, name, layers, both, biases),
                    *(biases, layers, 0.5, False, both, batch_first),
                )
        if name == "lstm" and not make.requires_grad:
            yield SampleInput(
                make(length, batch, width(make)),
                first_states(make, name, 1, batch, PROJECTED),
                parameters(make, name, 1, False, True, PROJECTED),
                *(True, 1, 0.0, True, False, False),
            )

    return samples


def packed(name: str) -> Samples:
    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        sizes = [2, 1] if make.requires_grad else [3, 2, 2]
        for layers, both, biases in kinds(make):
            yield SampleInput(
                make(sum(sizes), width(make)),
                indices(make, sizes),
                first_states(make, name, layers * (1 + both), sizes[0]),
                parameters(make, name, layers, both, biases),
                *(biases, layers, 0.5, False, both),
            )

    return samples


def cells(name: str) -> Samples:
    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for biases in (True, False):
            state = make(2, width(make))
            hx = [state, make(2, width(make))] if name == "lstm" else state
            weights = parameters(make, name, 1, False, biases)
            yield SampleInput(make(2, width(make)), hx, *weights)

    return samples


def unfit(name: str) -> Any:
    """Return calls of a network that are refused."""

    def call(length: int = 3, states: int = 1, batch: int = 2, left_out: int = 0) -> Any:
        def made(make: TensorMaker) -> SampleInput:
            params = parameters(make, name, 1, False, True)
            hx = first_states(make, name, states, batch)
            given = params[: len(params) - left_out]
            x = make(length, 2, width(make))
            return SampleInput(x, hx, given, True, 1, 0.0, False, False, False)

        return made

    return refusals(
        (call(length=0), RuntimeError, "Expected sequence length to be larger than 0 in RNN"),
        (call(states=2), RuntimeError, "Expected more hidden states in stacked_rnn"),
        (call(batch=3), RuntimeError, "Expected hidden states of 2 sequences, but got 3"),
        (call(left_out=1), RuntimeError, "got an incorrect number of RNN parameters"),
    )


def unfit_sizes(name: str) -> Any:
    """Return calls with sizes of packed sequences that are none."""

    def call(sizes: Sequence[object]) -> Any:
        return lambda make: SampleInput(
            make(4, width(make)),
            make.values(sizes) if isinstance(sizes[0], float) else indices(make, sizes),
            first_states(make, name, 1, 2),
            parameters(make, name, 1, False, True),
            *(True, 1, 0.0, False, False),
        )

    return refusals(
        (call([1, 2, 1]), RuntimeError, "Expected batch_sizes that do not grow"),
        (call([2.0, 2.0]), RuntimeError, "batch_sizes should be a 1D int64 tensor"),
    )


def unfit_cells(name: str) -> Any:
    """Return calls of a cell that are refused."""

    def call(features: int = 2, hidden: int = 2, batch: int = 2, rows: int = 0) -> Any:
        def made(make: TensorMaker) -> SampleInput:
            state = make(batch, hidden)
            hx = [state, make(batch, hidden)] if name == "lstm" else state
            weights = parameters(make, name, 1, False, True)
            if rows:
                weights[0] = make(rows, width(make))
            return SampleInput(make(2, features), hx, *weights)

        return made

    return refusals(
        (call(features=5), RuntimeError, "input has inconsistent input_size: got 5 expected 2"),
        (call(hidden=5), RuntimeError, "hidden0 has inconsistent hidden_size: got 5, expected 2"),
        (call(batch=3), RuntimeError, "Input batch size 2 doesn't match hidden0 batch size 3"),
        (
            call(rows=7),
            RuntimeError,
            r"weight_ih first dim must be \d \* hidden_size = \d+, but got 7",
        ),
    )


def counts(make: TensorMaker, values: list[int]) -> Any:
    # How many steps there are is read on the cpu, wherever the sequences are.
    return indices(make, values).cpu()


def several_lengths(make: TensorMaker) -> Iterator[SampleInput]:
    for lengths in ([3, 2], [2, 2]):
        yield SampleInput(make(3, 2, 2), counts(make, lengths), False)
        yield SampleInput(make(2, 3), counts(make, lengths), True)


def packs(make: TensorMaker) -> Iterator[SampleInput]:
    yield SampleInput(make(4, 2), counts(make, [2, 1, 1]), False, 0, -1)
    yield SampleInput(make(4), counts(make, [2, 2]), True, 1, 3)


def ragged(make: TensorMaker) -> Iterator[SampleInput]:
    yield SampleInput([make(3, 2), make(1, 2)])
    yield SampleInput([make(1), make(2), make(0)], True, 1.0, "left")


def refused_lengths(lengths: list[int], text: str) -> Any:
    return (lambda make: SampleInput(make(3, 2), counts(make, lengths), False), RuntimeError, text)


PACKING = refusals(
    refused_lengths([2, 3], "`lengths` array must be sorted in decreasing order"),
    refused_lengths([2, 0], "Length of all samples has to be greater than 0"),
    refused_lengths([4, 1], "Expected lengths of at most 3"),
    refused_lengths([1], r"Expected `len\(lengths\)` to be equal to batch_size, but got 1"),
)
PADDING = refusals(
    (
        lambda make: SampleInput(make(4, 2), counts(make, [2, 1, 1]), False, 0, 2),
        RuntimeError,
        "Expected total_length to be at least the length of the longest sequence",
    ),
    (
        lambda make: SampleInput(make(4, 2), counts(make, [2, 1]), False, 0, -1),
        RuntimeError,
        "Expected batch_sizes that do not grow and sum to 4",
    ),
)
SEQUENCES = refusals(
    (lambda make: SampleInput([]), RuntimeError, "received an empty list of sequences"),
    (
        lambda make: SampleInput([make(1)], False, 0.0, "middle"),
        RuntimeError,
        "Expected padding_side to be one of left or right, but got middle",
    ),
    (
        lambda make: SampleInput([make(2, 1), make(2, 2)]),
        RuntimeError,
        "The size of each tensor must match that of the first",
    ),
)


def pack_reference(x: np.ndarray, lengths: Any, batch_first: bool) -> Any:
    x = x.swapaxes(0, 1) if batch_first else x
    sizes = [sum(length > t for length in lengths) for t in range(lengths[0])]
    data = np.concatenate([x[t, :size] for t, size in enumerate(sizes)])
    return data, np.asarray(sizes, np.int64)


OP_INFOS = [
    *[
        each
        for name in GATES
        for each in (
            info(
                f"{name}.input",
                padded(name),
                padded_reference(name),
                DTYPES[name],
                errors=unfit(name),
            ),
            info(
                f"{name}.data",
                packed(name),
                packed_reference(name),
                DTYPES[name],
                errors=unfit_sizes(name),
                skips=SKIPS,
            ),
            info(
                f"{name}_cell",
                cells(name),
                cell_reference(name),
                DTYPES[name],
                errors=unfit_cells(name),
            ),
        )
    ],
    info("_thnn_fused_lstm_cell", fused.cells, fused.cell_reference, FLOATING, errors=fused.UNFIT),
    info(
        "_lstm_sequence",
        fused.sequences,
        fused.sequence_reference,
        FLOATING,
        errors=fused.UNFIT_SEQUENCES,
    ),
    info(
        "_pack_padded_sequence", several_lengths, pack_reference, errors=PACKING, skips=SKIPS[:-1]
    ),
    info("_pad_packed_sequence", packs, errors=PADDING, skips=SKIPS),
    info("pad_sequence", ragged, errors=SEQUENCES),
]
