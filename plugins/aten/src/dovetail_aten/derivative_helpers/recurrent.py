"""Derivatives of cells of recurrent networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def fused_lstm_cell_backward(
    k: Any, grads: Sequence[Any], cx: Any, cy: Any, gates: Any
) -> tuple[Any, Any, Any, Any, Any]:
    """Return the gradients of an LSTM's step, of those of the states and of the gates: to the gates
    of the input and of the state, to the cell state, and to both biases.
    """
    to_hidden, to_cell, to_gates = grads
    size = cx.shape[-1]
    entrance, kept, new, exit = [
        k.slice(gates, -1, start * size, (start + 1) * size) for start in range(4)
    ]
    shown = k.tanh(cy)
    if to_hidden is None:
        to_exit = k.zeros_like(cy)
        to_cell = to_exit if to_cell is None else to_cell
    else:
        to_exit = k.mul(to_hidden, shown)
        through = k.tanh_backward(k.mul(to_hidden, exit), shown)
        to_cell = through if to_cell is None else k.add(to_cell, through)
    parts = [k.mul(to_cell, new), k.mul(to_cell, cx), k.mul(to_cell, entrance), to_exit]
    if to_gates is not None:
        parts = [
            k.add(part, k.slice(to_gates, -1, start * size, (start + 1) * size))
            for start, part in enumerate(parts)
        ]
    made = k.cat(
        [
            k.sigmoid_backward(parts[0], entrance),
            k.sigmoid_backward(parts[1], kept),
            k.tanh_backward(parts[2], new),
            k.sigmoid_backward(parts[3], exit),
        ],
        -1,
    )
    return made, made, k.mul(to_cell, kept), made, made
