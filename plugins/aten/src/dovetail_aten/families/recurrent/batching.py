"""Cells of recurrent networks: the samples of a batch are sequences more."""

from __future__ import annotations

from typing import Any

from ..._generated import functions as F
from ...batching.table import batched, call_one, logical_ndim, padded
from ...typing import Batch, Dims, Tensor


def fused_lstm_cell(
    info: Batch,
    in_dims: Dims,
    input_gates: object,
    hidden_gates: object,
    cx: object,
    input_bias: object = None,
    hidden_bias: object = None,
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


def lstm_sequence(
    info: Batch,
    in_dims: Dims,
    gates: object,
    hx: object,
    cx: object,
    weight: Tensor | None,
    bias: Tensor | None = None,
    reverse: bool = False,
) -> tuple[Any, Any]:
    of_gates, of_hidden, of_cell, of_weight, *rest = in_dims
    of_bias = rest[0] if rest else None
    call_one(F._lstm_sequence, in_dims, gates, hx, cx, weight, bias)
    size = info.batch_size
    steps = F.transpose(batched(gates, of_gates, size), 0, 1)
    ndim = logical_ndim(cx, of_cell)
    return F._lstm_sequence(
        steps,
        batched(hx, of_hidden, size),
        batched(cx, of_cell, size),
        padded(weight, of_weight, ndim),
        None if bias is None else padded(bias, of_bias, ndim),
        reverse,
    ), (1, 1, 1)
