"""Recurrent networks over sequences: of plain units, of LSTM and of GRU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import dovetail_aten as aten
from dovetail_aten import Tensor

from .network_base import RNNBase, Sizes


class _OneState(RNNBase):
    """Networks with one state."""

    _operators: ClassVar[dict[str, Callable[..., Any]]] = {
        "RNN_TANH": aten.rnn_tanh,
        "RNN_RELU": aten.rnn_relu,
        "GRU": aten.gru,
    }

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        """Return the output of each step and the last hidden state.

        Parameters
        ----------
        input : Tensor or PackedSequence
            ``(L, N, input_size)``, ``(N, L, input_size)`` with ``batch_first``, or ``(L,
            input_size)``.
        hx : Tensor, optional
            ``(layers * directions, N, hidden_size)``: the first hidden state. Default: zeros.

        Raises
        ------
        ValueError, RuntimeError
            If dtypes or shapes are incompatible.
        """
        output, (state,) = self._run(self._operators[self.mode], input, hx, self._first_state)
        return output, state

    def _first_state(self, data: Tensor, batch_sizes: Tensor | None) -> Tensor:
        return self._zeros(data, self.get_expected_hidden_size(data, batch_sizes))


class RNN(_OneState):
    """``h = tanh(W_ih @ x + b_ih + W_hh @ h + b_hh)`` along sequences, or with relu.

    Parameters
    ----------
    input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, device, dtype
        As for `RNNBase`; ``nonlinearity`` may also follow ``num_layers``.
    nonlinearity : {'tanh', 'relu'}
        Activation of the units.

    Raises
    ------
    TypeError, ValueError
        For arguments of the wrong type or out of range.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            self.nonlinearity = args[3]
            args = args[:3] + args[4:]
        else:
            self.nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if self.nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{self.nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        super().__init__(f"RNN_{self.nonlinearity.upper()}", *args, **kwargs)


class GRU(_OneState):
    """Gated recurrent units along sequences.

    Each step computes ``r = sigmoid(W_ir @ x + b_ir + W_hr @ h + b_hr)``, likewise ``z``, ``n =
    tanh(W_in @ x + b_in + r * (W_hn @ h + b_hn))`` and ``h = (1 - z) * n + z * h``; the weights of
    ``r``, ``z`` and ``n`` are stacked in this order.

    Parameters
    ----------
    input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, device, dtype
        As for `RNNBase`.

    Raises
    ------
    TypeError, ValueError
        For arguments of the wrong type or out of range.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)


class LSTM(RNNBase):
    """Long short-term memory along sequences.

    Each step computes ``i = sigmoid(W_ii @ x + b_ii + W_hi @ h + b_hi)``, likewise ``f`` and ``o``,
    ``g = tanh(W_ig @ x + b_ig + W_hg @ h + b_hg)``, ``c = f * c + i * g`` and ``h = o * tanh(c)``,
    which is multiplied by ``W_hr`` if ``proj_size`` is not 0. The weights of ``i``, ``f``, ``g``
    and ``o`` are stacked in this order.

    Parameters
    ----------
    input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size
        As for `RNNBase`.
    device, dtype : optional
        Device and dtype of the parameters.

    Raises
    ------
    TypeError, ValueError
        For arguments of the wrong type or out of range.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> Sizes:
        """Return ``(layers * directions, N, hidden_size)``."""
        return self._expected(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raise if the shapes of input, hidden state or cell state are wrong."""
        self.check_input(input, batch_sizes)
        for place, expected in enumerate(
            (self.get_expected_hidden_size, self.get_expected_cell_size)
        ):
            self.check_hidden_size(
                hidden[place],
                expected(input, batch_sizes),
                f"Expected hidden[{place}] size {{}}, got {{}}",
            )

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """Return both states with permuted samples."""
        return [super(LSTM, self).permute_hidden(each, permutation) for each in hx]

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Any, tuple[Tensor, Tensor]]:
        """Return the output of each step, and the last hidden and cell states.

        Parameters
        ----------
        input : Tensor or PackedSequence
            ``(L, N, input_size)``, ``(N, L, input_size)`` with ``batch_first``, or ``(L,
            input_size)``.
        hx : pair of Tensor, optional
            ``(layers * directions, N, proj_size or hidden_size)`` and ``(layers * directions, N,
            hidden_size)``: the initial states. Default: zeros.

        Raises
        ------
        ValueError, RuntimeError
            If dtypes or shapes are incompatible.
        """
        output, (hidden, cell) = self._run(aten.lstm, input, hx, self._first_states)
        return output, (hidden, cell)

    def _first_states(self, data: Tensor, batch_sizes: Tensor | None) -> list[Tensor]:
        return [
            self._zeros(data, self.get_expected_hidden_size(data, batch_sizes)),
            self._zeros(data, self.get_expected_cell_size(data, batch_sizes)),
        ]

    def _with_batch(self, hx: Any, is_batched: bool) -> Any:
        hidden, cell = hx
        expected, kind = (3, "batched") if is_batched else (2, "unbatched")
        if hidden.dim() != expected or cell.dim() != expected:
            raise RuntimeError(
                f"For {kind} {expected}-D input, hx and cx should also be {expected}-D but got "
                f"({hidden.dim()}-D, {cell.dim()}-D) tensors"
            )
        return [hidden, cell] if is_batched else [hidden.unsqueeze(1), cell.unsqueeze(1)]
