"""The steps of an LSTM in few passes: all gates at once, though one of them is no sigmoid."""

from __future__ import annotations

from typing import Any

import numpy

from dovetail_aten.array_kernels.recurrent_cells import RecurrentCells, check_lstm_cell
from dovetail_aten.array_kernels.recurrent_sequences import (
    RecurrentSequences,
    check_lstm_sequence,
    places,
)

_FLOATS = tuple(map(numpy.dtype, (numpy.float32, numpy.float64)))
_ONES = {each: numpy.array(1, each) for each in _FLOATS}
_add, _multiply, _tanh, _exp = numpy.add, numpy.multiply, numpy.tanh, numpy.exp
_negative, _reciprocal = numpy.negative, numpy.reciprocal


def _step(gates: Any, cx: Any, cy: Any, hy: Any, new: Any) -> None:
    """Open the four gates in place, and write the next cell and hidden state.

    Parameters
    ----------
    gates
        Of shape ``(..., 4 * hidden_size)``.
    cx
        The cell state before.
    cy, hy
        Are written.
    new
        Memory for one state.
    """
    size = cx.shape[-1]
    candidate = gates[..., 2 * size : 3 * size]
    _tanh(candidate, new)
    _negative(gates, gates)
    _exp(gates, gates)
    _add(gates, _ONES[gates.dtype], gates)
    _reciprocal(gates, gates)
    candidate[...] = new
    _multiply(gates[..., size : 2 * size], cx, cy)
    _multiply(gates[..., :size], new, new)
    _add(cy, new, cy)
    _tanh(cy, hy)
    _multiply(hy, gates[..., 3 * size :], hy)


class FastRecurrentCells(RecurrentCells):
    """One step of an LSTM."""

    def fused_lstm_cell(
        self,
        input_gates: Any,
        hidden_gates: Any,
        cx: Any,
        input_bias: Any = None,
        hidden_bias: Any = None,
    ) -> tuple[Any, Any, Any]:
        """Return the next hidden and cell state, and the four gates."""
        dtype = input_gates.dtype
        biases = [each for each in (input_bias, hidden_bias) if each is not None]
        if dtype not in _FLOATS or any(
            [each.dtype is not dtype for each in (hidden_gates, cx, *biases)]
        ):
            return RecurrentCells.fused_lstm_cell(
                self, input_gates, hidden_gates, cx, input_bias, hidden_bias
            )
        check_lstm_cell(input_gates, hidden_gates, cx, *biases)
        gates = _add(input_gates, hidden_gates, order="C")
        for bias in biases:
            _add(gates, bias, out=gates)
        hy, cy, new = [numpy.empty(cx.shape, dtype) for _ in range(3)]
        _step(gates, cx, cy, hy, new)
        return hy, cy, gates


class FastRecurrentSequences(RecurrentSequences):
    """All steps of a layer of an LSTM, each written to where its results stay."""

    def lstm_sequence(
        self, gates: Any, hx: Any, cx: Any, weight: Any, bias: Any = None, reverse: bool = False
    ) -> tuple[Any, Any, Any]:
        """Return the hidden states, the cell states, and the four gates of all steps."""
        dtype = gates.dtype
        operands = (hx, cx, weight) if bias is None else (hx, cx, weight, bias)
        if (
            dtype not in _FLOATS
            or not cx.ndim == weight.ndim == 2
            or any([each.dtype is not dtype for each in operands])
        ):
            return RecurrentSequences.lstm_sequence(self, gates, hx, cx, weight, bias, reverse)
        check_lstm_sequence(gates, hx, cx, weight, bias)
        opened = gates.copy() if bias is None else _add(gates, bias, order="C")
        states = (*gates.shape[:-1], cx.shape[-1])
        hidden, cells = numpy.empty(states, dtype), numpy.empty(states, dtype)
        new, own = numpy.empty(cx.shape, dtype), numpy.empty(opened.shape[1:], dtype)
        turned = weight.T
        for place in places(gates, reverse):
            step = opened[place]
            _add(step, numpy.dot(hx, turned, own), step)
            _step(step, cx, cells[place], hidden[place], new)
            hx, cx = hidden[place], cells[place]
        return hidden, cells, opened
