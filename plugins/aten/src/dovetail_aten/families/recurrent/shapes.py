"""Cells of recurrent networks."""

from __future__ import annotations

from ...meta.meta_array import MetaArray
from ...meta.table import like
from .kernels.recurrent_cells import check_lstm_cell
from .kernels.recurrent_sequences import check_lstm_sequence


def fused_lstm_cell(
    input_gates: MetaArray,
    hidden_gates: MetaArray,
    cx: MetaArray,
    input_bias: MetaArray | None = None,
    hidden_bias: MetaArray | None = None,
) -> tuple[MetaArray, MetaArray, MetaArray]:
    check_lstm_cell(input_gates, hidden_gates, cx, input_bias, hidden_bias)
    return like(cx), like(cx), like(input_gates)


def lstm_sequence(
    gates: MetaArray,
    hx: MetaArray,
    cx: MetaArray,
    weight: MetaArray,
    bias: MetaArray | None = None,
    reverse: bool = False,
) -> tuple[MetaArray, MetaArray, MetaArray]:
    check_lstm_sequence(gates, hx, cx, weight, bias)
    states = (*gates.shape[:-1], cx.shape[-1])
    return like(cx, states), like(cx, states), like(gates)
