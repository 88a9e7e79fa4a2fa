"""Recurrent networks over whole sequences: all steps of one layer of an LSTM in one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....kernel_support.family import Family, helper, operator, widened
from ....typing import Array, Namespace


def check_lstm_sequence(gates: Any, hx: Any, cx: Any, weight: Any, bias: Any = None) -> None:
    """Raise an error for arguments other than the gates, states and parameters of one layer. Raises
    RuntimeError in words of its own: PyTorch has no such operator.
    """
    state = tuple(cx.shape)
    if len(state) < 2:
        raise RuntimeError(
            f"Expected cx of at least 2 dimensions, (batch, hidden_size), but got {list(state)}. "
            "Add one with unsqueeze."
        )
    size = state[-1]
    wanted = (*state[:-1], 4 * size)
    if not gates.ndim or not gates.shape[0] or tuple(gates.shape[1:]) != wanted:
        raise RuntimeError(
            "Expected gates of at least one step, four for each number of cx: of shape (steps, "
            f"{', '.join(map(str, wanted))}), but got {list(gates.shape)}. Multiply the input by a "
            "weight with 4 * hidden_size rows."
        )
    if tuple(hx.shape) != state:
        raise RuntimeError(
            f"Expected hx of the shape of cx, {list(state)}, but got {list(hx.shape)}. Pass a "
            "state for each sequence."
        )
    if tuple(weight.shape[-2:]) != (4 * size, size):
        raise RuntimeError(
            f"Expected a weight of shape {[4 * size, size]}, but got {list(weight.shape)}. Pass "
            "weight_hh."
        )
    if bias is not None and not (0 < bias.ndim <= len(state) and bias.shape[-1] == 4 * size):
        raise RuntimeError(
            f"Expected a bias of {4 * size} numbers, one for each gate, but got shape "
            f"{list(bias.shape)}. Pass bias_hh."
        )


class RecurrentSequences(Family):
    """All steps of one layer of an LSTM, and their derivative."""

    @operator("_lstm_sequence")
    @widened
    def lstm_sequence(
        self,
        gates: Array,
        hx: Array,
        cx: Array,
        weight: Array,
        bias: Array | None = None,
        reverse: bool = False,
    ) -> tuple[Any, Any, Any]:
        """Return the hidden states, the cell states, and the four gates of all steps."""
        xp = self.xp
        check_lstm_sequence(gates, hx, cx, weight, bias)
        if bias is not None:
            gates = xp.add(gates, bias)
        turned = weight.swapaxes(-2, -1)
        cell = self.table.kernels["_thnn_fused_lstm_cell"].fn
        steps, state = [], (hx, cx)
        for place in places(gates, reverse):
            made = cell(gates[place], xp.matmul(state[0], turned), state[1])
            state = made[:2]
            steps.append(made)
        if reverse:
            steps.reverse()
        hidden, cells, shown = [xp.stack(each) for each in zip(*steps, strict=True)]
        return hidden, cells, shown

    @helper("lstm_sequence_backward")
    def lstm_sequence_backward(
        self,
        grads: Sequence[Any],
        hx: Any,
        cx: Any,
        weight: Any,
        bias: Any,
        hidden: object,
        cells: object,
        gates: Any,
        reverse: bool,
        mask: Sequence[bool],
    ) -> tuple[Any, ...]:
        """Return the gradients of the input's contributions to the gates, of the first states, and,
        depending on `mask`, of the weight and bias.
        """
        xp, one = self.xp, self.numbers.like(gates, 1)
        to_hidden, to_cells, to_gates = grads
        size = cx.shape[-1]
        parts = [gates[..., start * size : (start + 1) * size] for start in range(4)]
        entrance, kept, new, exit = parts
        before, shown = _shifted(xp, cx, cells, reverse), xp.tanh(cells)
        slopes = [each * (one - each) for each in parts]
        slopes[2] = one - new * new
        of_cell = (slopes[0] * new, slopes[1] * before, slopes[2] * entrance)
        of_hidden, through = slopes[3] * shown, exit * (one - shown * shown)
        own = None if to_gates is None else to_gates * xp.concatenate(slopes, axis=-1)
        steps: list[Any] = []
        back, to_cell = xp.zeros_like(hx), xp.zeros_like(cx)
        for place in places(gates, not reverse):
            if to_hidden is not None:
                back = back + to_hidden[place]
            if to_cells is not None:
                to_cell = to_cell + to_cells[place]
            to_cell = to_cell + back * through[place]
            step = xp.concatenate(
                [*[to_cell * each[place] for each in of_cell], back * of_hidden[place]], axis=-1
            )
            step = step if own is None else step + own[place]
            back, to_cell = xp.matmul(step, weight), to_cell * kept[place]
            steps.append(step)
        if not reverse:
            steps.reverse()
        made = xp.stack(steps)
        parameters = self._to_parameters(made, hx, hidden, weight, bias, reverse, mask)
        return made, back, to_cell, *parameters

    def _to_parameters(
        self,
        made: Any,
        hx: Array,
        hidden: object,
        weight: Array,
        bias: Array | None,
        reverse: bool,
        mask: Sequence[bool],
    ) -> tuple[Any, Any]:
        """Return the gradients of the weight and of the bias from those of the gates."""
        xp = self.xp
        to_weight = to_bias = None
        if mask[3]:
            before = _shifted(xp, hx, hidden, reverse)
            if weight.ndim == 2:
                rows = xp.reshape(made, (-1, made.shape[-1]))
                to_weight = xp.matmul(rows.T, xp.reshape(before, (-1, before.shape[-1])))
            else:
                to_weight = xp.sum(xp.matmul(made.swapaxes(-2, -1), before), axis=0)
        if mask[4] and bias is not None:
            to_bias = self.table.helpers["sum_to"](made, bias.shape)
        return to_weight, to_bias


def places(steps: Array, reverse: bool) -> range:
    """Return the order of the steps."""
    count = steps.shape[0]
    return range(count - 1, -1, -1) if reverse else range(count)


def _shifted(xp: Namespace, first: Array, states: Any, reverse: bool) -> Any:
    """Return the state before each step."""
    parts = [states[1:], first[None]] if reverse else [first[None], states[:-1]]
    return xp.concatenate(parts, axis=0)
