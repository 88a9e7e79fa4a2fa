"""Cells of recurrent networks: the samples of a batch are sequences more."""

from __future__ import annotations

from typing import Any

from .._generated import functions as F
from .table import batched, logical_ndim, padded


def fused_lstm_cell(
    info: Any,
    in_dims: Any,
    input_gates: Any,
    hidden_gates: Any,
    cx: Any,
    input_bias: Any = None,
    hidden_bias: Any = None,
) -> tuple[Any, Any]:
    of_input, of_hidden, of_cell, *of_biases = in_dims
    ndim = logical_ndim(cx, of_cell)
    size = info.batch_size
    return F._thnn_fused_lstm_cell(
        batched(input_gates, of_input, size),
        batched(hidden_gates, of_hidden, size),
        batched(cx, of_cell, size),
        *[
            None if bias is None else padded(bias, in_dim, ndim)
            for bias, in_dim in zip((input_bias, hidden_bias), of_biases, strict=False)
        ],
    ), (0, 0, 0)
