"""The steps of an LSTM: a product of matrices for each, and one pass over its gates."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from dovetail_aten.families.recurrent.kernels.recurrent_sequences import check_lstm_sequence, places
from dovetail_cpu.blas_threads import numpy_in_calling_thread

from .covering import over, over_helper
from .dense_arrays import are_dense, is_float, loops_for

_MATRIX = 2


@lru_cache(16)
def _zeros(shape: tuple[int, ...], dtype: Any) -> Any:
    return np.zeros(shape, dtype)


def _are_suited(gates: Any, cx: Any, weight: Any, bias: Any, *more: Any) -> bool:
    """Return whether there is one matrix of gates for each step, and one weight for all."""
    return (
        is_float(gates)
        and are_dense(gates.dtype, gates, cx, weight, bias, *more)
        and cx.ndim == weight.ndim == _MATRIX
        and (bias is None or bias.ndim == 1)
    )


@over("_lstm_sequence", least=256)
def lstm_sequence(
    below: Any, gates: Any, hx: Any, cx: Any, weight: Any, bias: Any = None, reverse: bool = False
) -> Any:
    """Return the hidden states, the cell states, and the four gates of all steps."""
    if not _are_suited(gates, cx, weight, bias, hx):
        return below(gates, hx, cx, weight, bias, reverse)
    check_lstm_sequence(gates, hx, cx, weight, bias)
    dtype, states = gates.dtype, (len(gates), *cx.shape)
    opened, products = np.empty(gates.shape, dtype), np.empty(gates.shape[1:], dtype)
    hidden, cells = np.empty(states, dtype), np.empty(states, dtype)
    # BLAS multiplies few rows by it up to three times as fast as by a view.
    turned = np.ascontiguousarray(weight.T) if len(gates) > 1 else weight.T
    shift = _zeros(weight.shape[:1], dtype) if bias is None else bias
    run = loops_for(dtype).lstm_step.ready()
    with numpy_in_calling_thread(len(hx) * weight.size):
        for place in places(gates, reverse):
            cell, state = cells[place], hidden[place]
            np.dot(hx, turned, products)
            run(opened[place], cell, state, gates[place], products, shift, cx)
            hx, cx = state, cell
    return hidden, cells, opened


@over_helper("lstm_sequence_backward", least=256, counted=7)
def lstm_sequence_backward(
    below: Any,
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
) -> Any:
    """Return the gradients of the gates before they were opened, of the first states, and of the
    weight and bias where `mask` asks for them.
    """
    to_hidden, to_cells, to_gates = grads
    if to_gates is not None or not _are_suited(gates, cx, weight, bias, hx, hidden, cells):
        return below(grads, hx, cx, weight, bias, hidden, cells, gates, reverse, mask)
    dtype, nothing = gates.dtype, _zeros(cx.shape, gates.dtype)
    given = [None if each is None else np.ascontiguousarray(each) for each in (to_hidden, to_cells)]
    if not are_dense(dtype, *given):
        return below(grads, hx, cx, weight, bias, hidden, cells, gates, reverse, mask)
    to_hidden, to_cells = given
    made, back, to_cell = np.empty(gates.shape, dtype), np.zeros_like(hx), np.zeros_like(cx)
    run, first = loops_for(dtype).lstm_step_backward.ready(), len(gates) - 1 if reverse else 0
    with numpy_in_calling_thread(len(cx) * weight.size):
        for place in places(gates, not reverse):
            step = made[place]
            run(
                *(step, to_cell, back),
                nothing if to_hidden is None else to_hidden[place],
                nothing if to_cells is None else to_cells[place],
                *(gates[place], cells[place]),
                cx if place == first else cells[place + (1 if reverse else -1)],
            )
            np.dot(step, weight, back)
    to_weight = to_bias = None
    rows = made.reshape(-1, made.shape[-1])
    if mask[3]:
        before = np.concatenate((hidden[1:], hx[None]) if reverse else (hx[None], hidden[:-1]))
        to_weight = rows.T.dot(before.reshape(-1, before.shape[-1]))
    if mask[4] and bias is not None:
        to_bias = np.add.reduce(rows, 0)
    return made, back, to_cell, to_weight, to_bias


__all__ = ["lstm_sequence", "lstm_sequence_backward"]
