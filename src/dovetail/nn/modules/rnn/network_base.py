"""Common parts of recurrent networks over sequences: parameters, checks, batches, packed
sequences.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_aten.autocast import is_autocast_enabled
from dovetail_kernel import DeviceLike, warn_user
from dovetail_kernel import dtype as DType

from ...packed_sequences import PackedSequence
from ...parameter import Parameter
from ..module import Module
from .cells import _draw_weights

Sizes = tuple[int, int, int]

_GATES: Final = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class RNNBase(Module):
    """Base of recurrent networks: parameters of each layer and direction.

    Parameters
    ----------
    mode : {'LSTM', 'GRU', 'RNN_TANH', 'RNN_RELU'}
        Kind of units.
    input_size : int
        Features of a step of the input.
    hidden_size : int
        Features of the hidden state.
    num_layers : int, default 1
        Number of layers; each layer runs over the output of the previous one.
    bias : bool, default True
        Whether to add biases.
    batch_first : bool, default False
        Whether input and output are ``(N, L, …)`` instead of ``(L, N, …)``.
    dropout : float, default 0.0
        Dropout probability of the output of every layer but the last, in training.
    bidirectional : bool, default False
        Whether each layer also runs backwards; both results are concatenated.
    proj_size : int, default 0
        Features of the projected hidden state of an LSTM; 0 means no projection.
    device, dtype : optional
        Device and dtype of the parameters; default: the default device and dtype.

    Attributes
    ----------
    weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, weight_hr_l0, … : Parameter
        ``(gates * hidden_size, input_size)``, ``(gates * hidden_size, hidden_size)``, ``(gates *
        hidden_size)`` twice and ``(proj_size, hidden_size)`` of layer 0; the suffix ``_reverse``
        marks the parameters of the backward direction. All are initialised uniformly within ``± 1 /
        sqrt(hidden_size)``.

    Raises
    ------
    TypeError, ValueError
        For arguments of the wrong type or out of range.
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: DeviceLike | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        _check_types(input_size, hidden_size, bias, batch_first)
        _check_dropout(dropout, num_layers)
        _check_sizes(input_size, hidden_size, num_layers, proj_size)
        if mode not in _GATES:
            raise ValueError(f"Unrecognized RNN mode: {mode}. Use one of {', '.join(_GATES)}.")
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        made: Any = {"device": device, "dtype": dtype}
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse") if bidirectional else ("",):
                shapes = self._shapes(layer)
                names = [f"{name}_l{layer}{suffix}" for name in shapes]
                for name, shape in zip(names, shapes.values(), strict=True):
                    self.register_parameter(name, Parameter(aten.empty(shape, **made)))
                self._all_weights.append(names)
        self.reset_parameters()

    def _shapes(self, layer: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the parameters of a layer, in one direction."""
        rows = _GATES[self.mode] * self.hidden_size
        real = self.proj_size or self.hidden_size
        features = real * (2 if self.bidirectional else 1) if layer else self.input_size
        shapes: dict[str, tuple[int, ...]] = {
            "weight_ih": (rows, features),
            "weight_hh": (rows, real),
        }
        if self.bias:
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        return shapes

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        _draw_weights(self, self.hidden_size)

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Any]:
        own: dict[str, Any] = self._parameters
        try:
            return [own[name] for names in self._all_weights for name in names]
        except KeyError:  # something else was put in place of parameters
            return [getattr(self, name) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Do nothing: the parameters need not be contiguous in memory."""

    def extra_repr(self) -> str:
        defaults = [
            ("proj_size", 0),
            ("num_layers", 1),
            ("bias", True),
            ("batch_first", False),
            ("dropout", 0.0),
            ("bidirectional", False),
        ]
        shown = [
            f"{name}={getattr(self, name)}"
            for name, value in defaults
            if getattr(self, name) != value
        ]
        return ", ".join([f"{self.input_size}, {self.hidden_size}", *shown])

    # Checks

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise if the dtype, the dimensions or the features of an input are wrong."""
        kind = self._flat_weights[0].dtype
        if input.dtype is not kind and not is_autocast_enabled(input.device.type):
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({kind}). "
                f"Convert input: input.to({kind}), or convert model: model.to({input.dtype})"
            )
        expected = 3 if batch_sizes is None else 2
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                "input.size(-1) must be equal to input_size. "
                f"Expected {self.input_size}, got {input.size(-1)}"
            )

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> Sizes:
        """Return ``(layers * directions, N, proj_size or hidden_size)``."""
        return self._expected(input, batch_sizes, self.proj_size or self.hidden_size)

    def _expected(self, input: Tensor, batch_sizes: Tensor | None, features: int) -> Sizes:
        if batch_sizes is not None:
            batch = int(batch_sizes[0])
        else:
            batch = int(input.size(0 if self.batch_first else 1))
        return self.num_layers * (2 if self.bidirectional else 1), batch, features

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: Sizes, msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """Raise if the shape of a state is not the expected one."""
        if tuple(hx.size()) != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raise if the shapes of input or hidden state are wrong."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """Return a state with permuted samples."""
        return hx if permutation is None else hx.index_select(1, permutation)

    # What both kinds of state share

    def _run(self, operator: Callable[..., Any], input: Any, hx: Any, first_states: Any) -> Any:
        """Return the output and the last states, as the operator gives them: of sequences with or
        without a batch, or packed.
        """
        packed = input if isinstance(input, PackedSequence) else None
        if packed is not None:
            data, batch_sizes, sorted_indices, unsorted_indices = packed
            hidden = first_states(data, batch_sizes) if hx is None else hx
            if hx is not None:
                hidden = self.permute_hidden(hx, sorted_indices)
            self.check_forward_args(data, hidden, batch_sizes)
            output, *states = operator(
                *[data, batch_sizes, hidden, self._flat_weights, self.bias, self.num_layers],
                *[self.dropout, self.training, self.bidirectional],
            )
            again = type(packed)(output, batch_sizes, sorted_indices, unsorted_indices)
            return again, [RNNBase.permute_hidden(self, x, unsorted_indices) for x in states]
        if input.dim() not in (2, 3):
            raise ValueError(
                f"{self._get_name()}: Expected input to be 2D or 3D, got {input.dim()}D instead"
            )
        is_batched = input.dim() == 3
        batch_dim = 0 if self.batch_first else 1
        data = input if is_batched else input.unsqueeze(batch_dim)
        hidden = first_states(data, None) if hx is None else self._with_batch(hx, is_batched)
        self.check_forward_args(data, hidden, None)
        output, *states = operator(
            *[data, hidden, self._flat_weights, self.bias, self.num_layers, self.dropout],
            *[self.training, self.bidirectional, self.batch_first],
        )
        if is_batched:
            return output, states
        return output.squeeze(batch_dim), [state.squeeze(1) for state in states]

    def _with_batch(self, hx: Any, is_batched: bool) -> Any:
        """Return a state that was given as one of a batch."""
        if is_batched and hx.dim() != 3:
            raise RuntimeError(
                f"For batched 3-D input, hx should also be 3-D but got {hx.dim()}-D tensor"
            )
        if not is_batched and hx.dim() != 2:
            raise RuntimeError(
                f"For unbatched 2-D input, hx should also be 2-D but got {hx.dim()}-D tensor"
            )
        return hx if is_batched else hx.unsqueeze(1)

    def _zeros(self, data: Tensor, sizes: Sizes) -> Tensor:
        return aten.zeros(sizes, dtype=data.dtype, device=data.device)


def _check_types(
    input_size: object, hidden_size: object, bias: object, batch_first: object
) -> None:
    wanted = [
        ("input_size", input_size, int),
        ("bias", bias, bool),
        ("batch_first", batch_first, bool),
        ("hidden_size", hidden_size, int),
    ]
    for name, value, kind in wanted:
        if not isinstance(value, kind):
            raise TypeError(
                f"{name} should be of type {kind.__name__}, got: {type(value).__name__}"
            )


def _check_dropout(dropout: Any, num_layers: int) -> None:
    is_number = isinstance(dropout, int | float) and type(dropout) is not bool
    if not is_number or not 0 <= dropout <= 1:
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an "
            "element being zeroed"
        )
    if dropout > 0 and num_layers == 1:
        warn_user(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout "
            f"expects num_layers greater than 1, but got dropout={dropout} and "
            f"num_layers={num_layers}"
        )


def _check_sizes(input_size: int, hidden_size: int, num_layers: int, proj_size: int) -> None:
    sizes = {"input_size": input_size, "hidden_size": hidden_size, "num_layers": num_layers}
    for name, size in sizes.items():
        if size <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")
