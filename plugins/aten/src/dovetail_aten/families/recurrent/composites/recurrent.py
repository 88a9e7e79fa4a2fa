"""Recurrent networks over sequences: layers of cells, in one direction or in both, with dropout
between layers. What the input gives to the gates is one product for the whole sequence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dovetail_aten._generated import functions as F

from ....typing import Tensor
from .recurrent_cells import Cell, Weights, check_dtype, gru_step, lstm_step, relu_step, tanh_step
from .recurrent_steps import EachStep, PackedSteps, Steps

State = list[Any]


class Layers(NamedTuple):
    """Parameters and structure of a network, in the order of its operators' arguments."""

    params: Sequence[Tensor]
    has_biases: bool
    num_layers: int
    dropout: float
    train: bool
    bidirectional: bool


def lstm_input(input: Tensor, hx: Sequence[Tensor], *options: Any) -> tuple[Any, Any, Any]:
    """Return what an LSTM gives at each step of sequences, and its last hidden and cell states."""
    _check_pair(hx)
    output, (hidden, cell) = _padded(lstm_step, input, hx, *options)
    return output, hidden, cell


def lstm_data(
    data: Tensor, batch_sizes: Tensor, hx: Sequence[Tensor], *layers: Any
) -> tuple[Any, Any, Any]:
    """Return `lstm_input` of packed sequences."""
    _check_pair(hx)
    steps = PackedSteps(batch_sizes)
    output, (hidden, cell) = _stacked(lstm_step, steps, data, hx, Layers(*layers))
    return output, hidden, cell


def _check_pair(hx: Sequence[Tensor]) -> None:
    if len(hx) != 2:
        raise RuntimeError(
            f"lstm expects two hidden states, but got {len(hx)}. Pass the hidden and the cell "
            "state."
        )


def _with_one_state(step: Cell) -> Callable[..., Any]:
    """Return the function of networks with a hidden state only, over sequences of one length: it
    returns what the cell gives at each step, and the last state.
    """

    def network(input: Tensor, hx: Tensor, *options: Any) -> tuple[Any, Any]:
        output, (hidden,) = _padded(step, input, [hx], *options)
        return output, hidden

    return network


def _packed_with_one_state(step: Cell) -> Callable[..., Any]:
    """Return the function of the same networks over packed sequences."""

    def network(data: Tensor, batch_sizes: Tensor, hx: Tensor, *layers: Any) -> tuple[Any, Any]:
        steps = PackedSteps(batch_sizes)
        output, (hidden,) = _stacked(step, steps, data, [hx], Layers(*layers))
        return output, hidden

    return network


gru_input = _with_one_state(gru_step)
gru_data = _packed_with_one_state(gru_step)
rnn_tanh_input = _with_one_state(tanh_step)
rnn_tanh_data = _packed_with_one_state(tanh_step)
rnn_relu_input = _with_one_state(relu_step)
rnn_relu_data = _packed_with_one_state(relu_step)


def _padded(cell: Cell, input: Tensor, hx: Sequence[Tensor], *options: Any) -> tuple[Any, State]:
    """Return the outputs of sequences of one length, and the last states. `options` are `Layers`
    and whether samples come before steps.
    """
    *layers, batch_first = options
    if input.ndim != 3:
        raise IndexError(
            f"Expected sequences of 3 dimensions, but got {input.ndim}: dimension out of range. "
            "Add one with unsqueeze."
        )
    if batch_first:
        input = F.transpose(input, 0, 1)
    if not input.shape[0]:
        raise RuntimeError(
            "Expected sequence length to be larger than 0 in RNN. Leave empty sequences out."
        )
    steps = EachStep(*input.shape[:2])
    output, states = _stacked(cell, steps, input, hx, Layers(*layers))
    return (F.transpose(output, 0, 1) if batch_first else output), states


def _stacked(
    cell: Cell, steps: Steps, input: Tensor, hx: Sequence[Tensor], layers: Layers
) -> tuple[Any, State]:
    """Return the outputs of the last layer, and the last states of all."""
    check_dtype(input)
    directions = 1 + layers.bidirectional
    count = layers.num_layers * directions
    weights = _weights(layers.params, layers.has_biases, hx, count)
    _check_states(hx, count, steps.batch)
    first = [list(each) for each in zip(*(F.unbind(each, 0) for each in hx), strict=True)]
    last: list[State] = []
    for layer in range(layers.num_layers):
        outputs = []
        for direction in range(directions):
            place = layer * directions + direction
            own = weights[place]
            gates = F.linear(input, own.input, own.input_bias)
            output, state = steps.run(cell, gates, first[place], own, is_reverse=direction == 1)
            outputs.append(output)
            last.append(state)
        input = outputs[0] if directions == 1 else F.cat(outputs, -1)
        if layers.dropout and layers.train and layer < layers.num_layers - 1:
            input = F.dropout(input, layers.dropout, True)
    return input, [F.stack(each, 0) for each in zip(*last, strict=True)]


def _weights(
    params: Sequence[Any], has_biases: bool, hx: Sequence[Any], count: int
) -> list[Weights]:
    """Return the parameters of each layer and direction. Raises RuntimeError if there are too many,
    or too few.
    """
    is_projected = len(hx) == 2 and hx[0].shape[-1] != hx[1].shape[-1]
    each = 2 + 2 * has_biases + is_projected
    if len(params) != each * count:
        raise RuntimeError(
            f"got an incorrect number of RNN parameters: {len(params)}, not {each * count}. Pass "
            f"{each} for each layer and direction."
        )
    found = []
    for start in range(0, len(params), each):
        own = list(params[start : start + each])
        projection = own.pop() if is_projected else None
        biases = own[2:] or [None, None]
        found.append(Weights(own[0], own[1], biases[0], biases[1], projection))
    return found


def _check_states(hx: Sequence[Tensor], count: int, batch: int) -> None:
    """Raise an error for first states without one for each layer, direction and sequence. Raises
    RuntimeError with PyTorch's message.
    """
    for state in hx:
        if state.ndim != 3 or state.shape[0] != count:
            raise RuntimeError(
                f"Expected more hidden states in stacked_rnn, or fewer: {count} layers and "
                f"directions need {count}, but got a state of shape {list(state.shape)}. Pass "
                f"({count}, {batch}, hidden_size)."
            )
        if state.shape[1] != batch:
            raise RuntimeError(
                f"Expected hidden states of {batch} sequences, but got {state.shape[1]}: a state "
                f"of shape {list(state.shape)}. Pass ({count}, {batch}, hidden_size)."
            )
