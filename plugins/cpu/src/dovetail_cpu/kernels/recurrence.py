"""The steps of an LSTM in few passes: all gates at once, though one of them is no sigmoid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from dovetail_aten.families import (
    RecurrentCells,
    RecurrentSequences,
    check_lstm_cell,
    check_lstm_sequence,
    places,
)

from ..parallel.blas_threads import numpy_in_calling_thread

_FLOATS = tuple(map(numpy.dtype, (numpy.float32, numpy.float64)))
_ONES = {each: numpy.array(1, each) for each in _FLOATS}
_add, _multiply, _tanh = numpy.add, numpy.multiply, numpy.tanh
_negative, _reciprocal, _subtract = numpy.negative, numpy.reciprocal, numpy.subtract
_exp = numpy.exp
_FEWEST_ROWS = 64
"""Rows of all steps from which a weight is turned before the first."""
_LARGEST, _MANY = 1 << 16, 16
"""Above the first number of elements, only for the second number of steps."""


def _step(gates: Any, cx: Any, cy: Any, hy: Any, new: Any) -> None:
    """Open the four gates in place, and write the next cell and hidden state.

    Parameters
    ----------
    gates
        What opens them with its sign changed, of shape ``(..., 4 * hidden_size)``: as powers take
        it.
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
    _exp(gates, gates)
    _add(gates, _ONES[gates.dtype], gates)
    _reciprocal(gates, gates)
    _negative(new, candidate)
    _multiply(gates[..., size : 2 * size], cx, cy)
    _multiply(gates[..., :size], new, new)
    _subtract(cy, new, cy)
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
        _negative(gates, gates)
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
        if bias is None:
            opened = _negative(gates, order="C")
        else:
            opened = _subtract(_negative(bias), gates, order="C")
        states = (*gates.shape[:-1], cx.shape[-1])
        hidden, cells = numpy.empty(states, dtype), numpy.empty(states, dtype)
        new, own = numpy.empty(cx.shape, dtype), numpy.empty(opened.shape[1:], dtype)
        turned = weight.T
        steps, batch = len(gates), len(cx)
        if steps * batch >= _FEWEST_ROWS and (
            weight.size <= _LARGEST or (steps >= _MANY and batch > 1)
        ):
            # BLAS multiplies few rows by it up to three times as fast as by a view.
            turned = self.capabilities.contiguous(turned)
        with numpy_in_calling_thread(batch * weight.size):
            for place in places(gates, reverse):
                step = opened[place]
                _subtract(step, numpy.dot(hx, turned, own), step)
                _step(step, cx, cells[place], hidden[place], new)
                hx, cx = hidden[place], cells[place]
        return hidden, cells, opened

    def lstm_sequence_backward(
        self,
        grads: Sequence[Any],
        hx: Any,
        cx: Any,
        weight: Any,
        bias: Any,
        hidden: Any,
        cells: Any,
        gates: Any,
        reverse: bool,
        mask: Sequence[bool],
    ) -> tuple[Any, ...]:
        """Return the gradients of the gates before they were opened, of the first states, and of
        the weight and bias where `mask` asks for them.
        """
        dtype = gates.dtype
        given = (*grads, hx, cx, weight, hidden, cells)
        if (
            dtype not in _FLOATS
            or not cx.ndim == weight.ndim == 2
            or any([each is not None and each.dtype is not dtype for each in given])
        ):
            return RecurrentSequences.lstm_sequence_backward(
                self, grads, hx, cx, weight, bias, hidden, cells, gates, reverse, mask
            )
        to_hidden, to_cells, to_gates = grads
        made, through, own = _slopes(gates, cx, cells, to_gates, reverse)
        parts = made.reshape(*gates.shape[:-1], 4, cx.shape[-1])
        kept = gates[..., cx.shape[-1] : 2 * cx.shape[-1]]
        back, to_cell = numpy.zeros(hx.shape, dtype), numpy.zeros(cx.shape, dtype)
        new = numpy.empty(cx.shape, dtype)
        with numpy_in_calling_thread(len(cx) * weight.size):
            for place in places(gates, not reverse):
                if to_hidden is not None:
                    _add(back, to_hidden[place], back)
                if to_cells is not None:
                    _add(to_cell, to_cells[place], to_cell)
                _add(to_cell, _multiply(back, through[place], new), to_cell)
                step = parts[place]
                of_cell, of_hidden = step[:, :3], step[:, 3]
                _multiply(of_cell, to_cell[:, None], of_cell)
                _multiply(of_hidden, back, of_hidden)
                step = made[place]
                if own is not None:
                    _add(step, own[place], step)
                numpy.dot(step, weight, back)
                _multiply(to_cell, kept[place], to_cell)
        parameters = self._to_parameters(made, hx, hidden, weight, bias, reverse, mask)
        return made, back, to_cell, *parameters


def _slopes(gates: Any, cx: Any, cells: Any, to_gates: Any, reverse: bool) -> tuple[Any, Any, Any]:
    """Return what the gradients of all steps are products with: those of the cell states and of the
    hidden states for the gates, in their places; those of the hidden states for the cell states;
    and what the opened gates themselves were given.
    """
    one, shape = _ONES[gates.dtype], (*gates.shape[:-1], 4, cx.shape[-1])
    made = _subtract(one, gates, order="C")
    _multiply(made, gates, made)
    parts, opened = made.reshape(shape), gates.reshape(shape)
    entrance, kept, new, exit = [parts[..., place, :] for place in range(4)]
    candidate = opened[..., 2, :]
    _subtract(one, _multiply(candidate, candidate, new), new)
    own = None if to_gates is None else to_gates * made
    _multiply(entrance, candidate, entrance)
    _multiply(new, opened[..., 0, :], new)
    later, earlier, first = (kept[:-1], cells[1:], -1) if reverse else (kept[1:], cells[:-1], 0)
    _multiply(later, earlier, later)
    _multiply(kept[first], cx, kept[first])
    shown = numpy.tanh(cells, order="C")
    _multiply(exit, shown, exit)
    _subtract(one, _multiply(shown, shown, shown), shown)
    _multiply(shown, opened[..., 3, :], shown)
    return made, shown, own
