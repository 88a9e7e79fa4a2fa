"""Single steps of recurrent networks."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_kernel import DeviceLike
from dovetail_kernel import dtype as DType

from ... import init
from ...parameter import Parameter
from ..module import Module


def _draw_weights(module: Module, width: int) -> None:
    """Draw the parameters of a recurrent layer or cell uniformly within ``1 / sqrt(width)``."""
    bound = 1 / math.sqrt(width) if width > 0 else 0.0
    for weight in module.parameters():
        init.uniform_(weight, -bound, bound)


class RNNCellBase(Module):
    """Base of recurrent cells: parameters.

    Parameters
    ----------
    input_size : int
        Features of the input, ``(N, input_size)`` or ``(input_size)``.
    hidden_size : int
        Features of the states, ``(N, hidden_size)`` or ``(hidden_size)``.
    bias : bool
        Whether to add biases.
    num_chunks : int
        Number of gates.
    device, dtype : optional
        Device and dtype of the parameters; default: the default device and dtype.

    Attributes
    ----------
    weight_ih, weight_hh : Parameter
        ``(num_chunks * hidden_size, input_size)`` and ``(num_chunks * hidden_size, hidden_size)``;
        all are initialised uniformly within ``± 1 / sqrt(hidden_size)``.
    bias_ih, bias_hh : Parameter or None
        ``(num_chunks * hidden_size)``
    """

    weight_ih: Parameter
    weight_hh: Parameter
    bias_ih: Parameter | None
    bias_hh: Parameter | None

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: DeviceLike | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        made: Any = {"device": device, "dtype": dtype}
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(aten.empty((rows, input_size), **made))
        self.weight_hh = Parameter(aten.empty((rows, hidden_size), **made))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(aten.empty(rows, **made)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        _draw_weights(self, self.hidden_size)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        nonlinearity = getattr(self, "nonlinearity", "tanh")
        return text if nonlinearity == "tanh" else f"{text}, nonlinearity={nonlinearity}"

    def _check(self, name: str, tensor: Tensor) -> None:
        if tensor.dim() not in (1, 2):
            raise ValueError(
                f"{self._get_name()}: Expected {name} to be 1D or 2D, got {tensor.dim()}D instead"
            )

    def _first_state(self, rows: Tensor) -> Tensor:
        sizes = (rows.size(0), self.hidden_size)
        return aten.zeros(sizes, dtype=rows.dtype, device=rows.device)

    def _weights(self) -> tuple[Any, ...]:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh


class _OneState(RNNCellBase):
    """Cells with one state."""

    def _step(self, input: Tensor, hx: Tensor, *weights: Any) -> Tensor:
        raise NotImplementedError

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return the next hidden state.

        Parameters
        ----------
        input : Tensor
            ``(N, input_size)`` or ``(input_size)``.
        hx : Tensor, optional
            ``(N, hidden_size)`` or ``(hidden_size)``: the hidden state. Default: zeros.

        Raises
        ------
        ValueError, RuntimeError
            If shapes are incompatible.
        """
        self._check("input", input)
        if hx is not None:
            self._check("hidden", hx)
        is_batched = input.dim() == 2
        rows = input if is_batched else input.unsqueeze(0)
        state = self._first_state(rows) if hx is None else hx
        if hx is not None and not is_batched:
            state = hx.unsqueeze(0)
        found = self._step(rows, state, *self._weights())
        return found if is_batched else found.squeeze(0)


class RNNCell(_OneState):
    """``tanh(W_ih @ x + b_ih + W_hh @ h + b_hh)``, or relu of it.

    Parameters
    ----------
    input_size, hidden_size, bias, device, dtype
        As for `RNNCellBase`.
    nonlinearity : {'tanh', 'relu'}
        Activation of the units.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: DeviceLike | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def _step(self, input: Tensor, hx: Tensor, *weights: Any) -> Tensor:
        if self.nonlinearity == "tanh":
            return aten.rnn_tanh_cell(input, hx, *weights)
        if self.nonlinearity == "relu":
            return aten.rnn_relu_cell(input, hx, *weights)
        raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}. Use 'tanh' or 'relu'.")


class _Gated(RNNCellBase):
    """Cells of several gates, and without other options."""

    _gates: ClassVar[int]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, self._gates, device, dtype)


class GRUCell(_Gated, _OneState):
    """One step of `GRU`.

    Parameters
    ----------
    input_size, hidden_size, bias, device, dtype
        As for `RNNCellBase`.
    """

    _gates = 3

    def _step(self, input: Tensor, hx: Tensor, *weights: Any) -> Tensor:
        return aten.gru_cell(input, hx, *weights)


class LSTMCell(_Gated):
    """One step of `LSTM`.

    Parameters
    ----------
    input_size, hidden_size, bias, device, dtype
        As for `RNNCellBase`.
    """

    _gates = 4

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the next hidden and cell states.

        Parameters
        ----------
        input : Tensor
            ``(N, input_size)`` or ``(input_size)``.
        hx : pair of Tensor, optional
            ``(N, hidden_size)`` or ``(hidden_size)``: hidden and cell state. Default: zeros.

        Raises
        ------
        ValueError, RuntimeError
            If shapes are incompatible.
        TypeError
            If ``hx`` is not a pair of tensors.
        """
        self._check("input", input)
        if isinstance(hx, Tensor):
            raise TypeError(
                "lstm_cell(): argument 'hx' (position 2) must be tuple of Tensors, not Tensor. "
                "Pass hidden and cell state."
            )
        for place, state in enumerate(hx or ()):
            self._check(f"hx[{place}]", state)
        is_batched = input.dim() == 2
        rows = input if is_batched else input.unsqueeze(0)
        if hx is None:
            states = [self._first_state(rows)] * 2
        else:
            states = [state if is_batched else state.unsqueeze(0) for state in hx]
        hidden, cell = aten.lstm_cell(rows, states, *self._weights())
        return (hidden, cell) if is_batched else (hidden.squeeze(0), cell.squeeze(0))
