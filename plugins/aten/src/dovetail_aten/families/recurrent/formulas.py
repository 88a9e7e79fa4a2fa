"""Derivatives of cells of recurrent networks, and of whole sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...typing import Namespace, TensorLike


def fused_lstm_cell_backward(
    k: Namespace, grads: Sequence[object], cx: Any, cy: object, gates: object
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


def lstm_sequence_backward(
    k: Namespace,
    grads: Sequence[object],
    hx: object,
    cx: object,
    weight: TensorLike | None,
    bias: object,
    hidden: object,
    cells: object,
    gates: object,
    reverse: bool,
    mask: Sequence[bool],
) -> tuple[Any, ...]:
    """Return the gradients of the steps of an LSTM: of what the input gives to the gates, of the
    first states, the weight and the bias.

    Over arrays a backend has it in one pass. Over tensors it is made of steps, that it can be
    differentiated again.
    """
    in_one_pass = getattr(k, "lstm_sequence_backward", None)
    if in_one_pass is not None:
        made: tuple[Any, ...] = in_one_pass(
            grads, hx, cx, weight, bias, hidden, cells, gates, reverse, mask
        )
        return made
    given = [None if each is None else k.unbind(each) for each in grads]
    states, opened = k.unbind(cells), k.unbind(gates)
    count = len(states)
    order = range(count) if reverse else range(count - 1, -1, -1)
    first = count - 1 if reverse else 0
    earlier = 1 if reverse else -1
    steps: list[Any] = [None] * count
    back = [None, None]
    for place in order:
        to_hidden, to_cell, to_gates = [each and each[place] for each in given]
        steps[place], _, to_cell, *_ = fused_lstm_cell_backward(
            k,
            (_sum(k, to_hidden, back[0]), _sum(k, to_cell, back[1]), to_gates),
            cx if place == first else states[place + earlier],
            states[place],
            opened[place],
        )
        back = [k.matmul(steps[place], weight), to_cell]
    steps = k.stack(steps)
    return (steps, *back, *_to_parameters(k, steps, hx, weight, bias, hidden, reverse, mask))


def _sum(k: Namespace, one: object, other: object) -> Any:
    """Return the sum of two gradients, each of which may be missing."""
    return other if one is None else one if other is None else k.add(one, other)


def _to_parameters(
    k: Any,
    steps: object,
    hx: object,
    weight: Any,
    bias: Any,
    hidden: object,
    reverse: bool,
    mask: Sequence[bool],
) -> tuple[Any, Any]:
    """Return the gradients of the weight and of the bias from those of the gates."""
    to_weight = to_bias = None
    if mask[3]:
        first = k.unsqueeze(hx, 0)
        parts = [k.slice(hidden, 0, 1), first] if reverse else [first, k.slice(hidden, 0, 0, -1)]
        product = k.matmul(k.transpose(steps, -2, -1), k.cat(parts))
        to_weight = k.sum_to_size(product, weight.shape)
    if mask[4] and bias is not None:
        to_bias = k.sum_to_size(steps, bias.shape)
    return to_weight, to_bias
