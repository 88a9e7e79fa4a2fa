"""How a recurrent network steps through sequences: all of one length, or packed."""

from __future__ import annotations

from typing import Any, Protocol

from dovetail_aten._generated import functions as F
from dovetail_kernel import int64

from .recurrent_cells import Cell, Weights, is_fused, lstm_step


class Steps(Protocol):
    """The steps of a batch of sequences."""

    batch: int

    def run(
        self, cell: Cell, gates: Any, state: list[Any], weights: Weights, *, is_reverse: bool
    ) -> tuple[Any, list[Any]]:
        """Return the outputs of all steps, and the last state.

        Parameters
        ----------
        cell
            Makes a state of what a step of the input gives, and of the state before.
        gates
            What the input gives.
        state
            Before the first step: tensors of shape ``(batch, hidden_size)``.
        weights
            Of the cell.
        is_reverse
            Whether the last step comes first.
        """


class EachStep:
    """Steps of sequences of one length, in the first dimension."""

    def __init__(self, length: int, batch: int) -> None:
        self.length = length
        self.batch = batch

    def run(
        self, cell: Cell, gates: Any, state: list[Any], weights: Weights, *, is_reverse: bool
    ) -> tuple[Any, list[Any]]:
        """Return the outputs of all steps, and the last state."""
        if cell is lstm_step and is_fused(gates, state, weights):
            hx, cx = state
            hidden, cells, _ = F._lstm_sequence(
                gates, hx, cx, weights.hidden, weights.hidden_bias, is_reverse
            )
            last = 0 if is_reverse else -1
            return hidden, [F.select(hidden, 0, last), F.select(cells, 0, last)]
        steps = F.unbind(gates, 0)
        outputs = []
        for step in reversed(steps) if is_reverse else steps:
            state = cell(step, state, weights)
            outputs.append(state[0])
        return F.stack(outputs[::-1] if is_reverse else outputs, 0), state


class PackedSteps:
    """Steps of packed sequences, the longest first: how many sequences have each.

    Raises
    ------
    RuntimeError
        If there are no numbers, or numbers that grow.
    """

    def __init__(self, batch_sizes: Any) -> None:
        if batch_sizes.ndim != 1 or batch_sizes.dtype is not int64:
            raise RuntimeError(
                "expected scalar type Long: batch_sizes should be a 1D int64 tensor, but found "
                f"{batch_sizes.ndim}D {batch_sizes.dtype}. Convert it."
            )
        self.sizes: list[int] = batch_sizes.tolist()
        if not self.sizes:
            raise RuntimeError(
                "Expected sequence length to be larger than 0 in RNN. Leave empty sequences out."
            )
        if self.sizes != sorted(self.sizes, reverse=True):
            raise RuntimeError(
                f"Expected batch_sizes that do not grow, but got {self.sizes}. Pack sequences with "
                "nn.utils.rnn.pack_padded_sequence."
            )
        self.batch = self.sizes[0]

    def run(
        self, cell: Cell, gates: Any, state: list[Any], weights: Weights, *, is_reverse: bool
    ) -> tuple[Any, list[Any]]:
        """Return the outputs of all steps, and the last state of each sequence."""
        steps = list(zip(F.split(gates, self.sizes, 0), self.sizes, strict=True))
        if is_reverse:
            outputs, last = self._from_the_end(cell, steps, state, weights)
        else:
            outputs, last = self._from_the_start(cell, steps, state, weights)
        return F.cat(outputs, 0), last

    def _from_the_start(
        self, cell: Cell, steps: list[tuple[Any, int]], state: list[Any], weights: Weights
    ) -> tuple[list[Any], list[Any]]:
        """Step forward: sequences end on the way, the shortest first."""
        outputs = []
        ended = []
        size = self.batch
        for step, wanted in steps:
            if wanted < size:
                ended.append([F.narrow(each, 0, wanted, size - wanted) for each in state])
                state = [F.narrow(each, 0, 0, wanted) for each in state]
                size = wanted
            state = cell(step, state, weights)
            outputs.append(state[0])
        ended.append(state)
        return outputs, [F.cat(each, 0) for each in zip(*reversed(ended), strict=True)]

    def _from_the_end(
        self, cell: Cell, steps: list[tuple[Any, int]], first: list[Any], weights: Weights
    ) -> tuple[list[Any], list[Any]]:
        """Step backward: sequences begin on the way, the longest first."""
        outputs = []
        size = self.sizes[-1]
        state = [F.narrow(each, 0, 0, size) for each in first]
        for step, wanted in reversed(steps):
            if wanted > size:
                begun = [F.narrow(each, 0, size, wanted - size) for each in first]
                state = [F.cat(each, 0) for each in zip(state, begun, strict=True)]
                size = wanted
            state = cell(step, state, weights)
            outputs.append(state[0])
        return outputs[::-1], state
