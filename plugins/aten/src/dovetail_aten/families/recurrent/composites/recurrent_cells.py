"""Cells of recurrent networks: one step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from dovetail_aten._generated import functions as F
from dovetail_kernel import float32, float64

from ....typing import Tensor, TensorLike


class Weights(NamedTuple):
    """The parameters of a cell, or of a layer in one direction."""

    input: Any
    hidden: Any
    input_bias: Any = None
    hidden_bias: Any = None
    projection: Any = None


_FUSED: Final = (float32, float64)
"""Dtypes of the operators that are a whole step, or all of them. Half precision is rounded after
every part of a step, and autocast may mix dtypes.
"""

Cell = Callable[[Any, list[Any], Weights], list[Any]]
"""Makes a state of what the input gives to the gates, and of the state before."""


def is_fused(gates: TensorLike, state: list[Any], weights: Weights) -> bool:
    """Return whether one operator takes all steps of an LSTM."""
    dtype = gates.dtype
    return (
        dtype in _FUSED
        and weights.projection is None
        and state[0].dtype is state[1].dtype is weights.hidden.dtype is dtype
        and (weights.hidden_bias is None or weights.hidden_bias.dtype is dtype)
    )


def lstm_step(gates: Tensor, state: list[Any], weights: Weights) -> list[Any]:
    """Return the next hidden and cell state of an LSTM."""
    hidden, cell = state
    own = F.linear(hidden, weights.hidden, weights.hidden_bias)
    if own.dtype in _FUSED and own.dtype is gates.dtype is cell.dtype:
        hidden, cell, _ = F._thnn_fused_lstm_cell(gates, own, cell)
    else:
        entrance, kept, new, exit = F.chunk(F.add(gates, own), 4, -1)
        cell = F.add(F.mul(F.sigmoid(kept), cell), F.mul(F.sigmoid(entrance), F.tanh(new)))
        hidden = F.mul(F.sigmoid(exit), F.tanh(cell))
    if weights.projection is not None:
        hidden = F.linear(hidden, weights.projection)
    return [hidden, cell]


def gru_step(gates: Any, state: list[Any], weights: Weights) -> list[Any]:
    """Return the next hidden state of a GRU."""
    (hidden,) = state
    reset, kept, new = F.chunk(gates, 3, -1)
    own = F.chunk(F.linear(hidden, weights.hidden, weights.hidden_bias), 3, -1)
    reset = F.sigmoid(F.add(reset, own[0]))
    kept = F.sigmoid(F.add(kept, own[1]))
    new = F.tanh(F.add(new, F.mul(reset, own[2])))
    return [F.add(F.mul(F.sub(hidden, new), kept), new)]


def tanh_step(gates: Any, state: list[Any], weights: Weights) -> list[Any]:
    """Return the next hidden state of a cell with the hyperbolic tangent."""
    return [F.tanh(F.add(gates, F.linear(state[0], weights.hidden, weights.hidden_bias)))]


def relu_step(gates: Any, state: list[Any], weights: Weights) -> list[Any]:
    """Return the next hidden state of a cell with `relu`."""
    return [F.relu(F.add(gates, F.linear(state[0], weights.hidden, weights.hidden_bias)))]


def lstm_cell(input: Tensor, hx: Sequence[object], *weights: object) -> tuple[Any, Any]:
    """Return the next hidden and cell state of an LSTM."""
    if len(hx) != 2:
        raise RuntimeError(
            f"lstm_cell expects two hidden states, but got {len(hx)}. Pass the hidden and the cell "
            "state."
        )
    hidden, cell = _once(lstm_step, 4, input, list(hx), Weights(*weights))
    return hidden, cell


def _of_one_state(cell: Cell, gates: int) -> Callable[..., Any]:
    """Return the function of one step of a cell with a hidden state only."""

    def step(input: Tensor, hx: object, *weights: object) -> Any:
        return _once(cell, gates, input, [hx], Weights(*weights))[0]

    return step


gru_cell = _of_one_state(gru_step, 3)
rnn_tanh_cell = _of_one_state(tanh_step, 1)
rnn_relu_cell = _of_one_state(relu_step, 1)


def check_dtype(input: TensorLike) -> None:
    """Raise an error for integer inputs, since states are not integers. Raises RuntimeError in
    words of its own.
    """
    if not (input.dtype.is_floating_point or input.dtype.is_complex):
        raise RuntimeError(
            "Expected an input of floating point or complex numbers for a recurrent network, but "
            f"got {input.dtype}. Convert it."
        )


def _once(cell: Cell, gates: int, input: Tensor, state: list[Any], weights: Weights) -> list[Any]:
    """Return the next state, of arguments that fit together. Raises RuntimeError or IndexError with
    PyTorch's message.
    """
    check_dtype(input)
    hidden_size = weights.hidden.shape[-1]
    if any([each.ndim < 2 for each in (input, *state)]):
        raise IndexError(
            "Dimension out of range: a cell expects an input and states of 2 dimensions. Add one "
            "with unsqueeze."
        )
    if input.shape[1] != weights.input.shape[1]:
        raise RuntimeError(
            f"input has inconsistent input_size: got {input.shape[1]} expected "
            f"{weights.input.shape[1]}. Pass as many features as weight_ih has columns."
        )
    for place, each in enumerate(state):
        if each.shape[1] != hidden_size:
            raise RuntimeError(
                f"hidden{place} has inconsistent hidden_size: got {each.shape[1]}, expected "
                f"{hidden_size}. Pass as many features as weight_hh has columns."
            )
        if each.shape[0] != input.shape[0]:
            raise RuntimeError(
                f"Input batch size {input.shape[0]} doesn't match hidden{place} batch size "
                f"{each.shape[0]}. Pass a state for each sample."
            )
    for name, weight in (("weight_ih", weights.input), ("weight_hh", weights.hidden)):
        if weight.shape[0] != gates * hidden_size:
            raise RuntimeError(
                f"{name} first dim must be {gates} * hidden_size = {gates * hidden_size}, but got "
                f"{weight.shape[0]}. Pass another matrix."
            )
    given = F.linear(input, weights.input, weights.input_bias)
    return cell(given, state, weights)
