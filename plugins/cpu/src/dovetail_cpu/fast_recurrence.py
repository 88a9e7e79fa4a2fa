"""The step of an LSTM in few passes: all gates at once, though one of them is no sigmoid."""

from __future__ import annotations

from typing import Any

import numpy

from dovetail_aten.array_kernels.recurrent_cells import RecurrentCells, check_lstm_cell

_FLOATS = tuple(map(numpy.dtype, (numpy.float32, numpy.float64)))
_ONES = {each: numpy.array(1, each) for each in _FLOATS}
_add, _multiply, _tanh, _exp = numpy.add, numpy.multiply, numpy.tanh, numpy.exp


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
        size = cx.shape[-1]
        candidate = gates[..., 2 * size : 3 * size]
        new = _tanh(candidate)
        numpy.negative(gates, out=gates)
        _exp(gates, out=gates)
        _add(gates, _ONES[dtype], out=gates)
        numpy.reciprocal(gates, out=gates)
        candidate[...] = new
        cy = _multiply(gates[..., size : 2 * size], cx, order="C")
        _multiply(gates[..., :size], new, out=new)
        _add(cy, new, out=cy)
        hy = _tanh(cy)
        return _multiply(hy, gates[..., 3 * size :], out=hy), cy, gates
