"""Cells of recurrent networks whose gates are one array: one step of an LSTM."""

from __future__ import annotations

from typing import Any

from ....kernel_support.family import Family, operator, widened
from ....typing import Array


def check_lstm_cell(input_gates: Any, hidden_gates: Any, cx: Any, *biases: Any) -> None:
    """Raise an error for gates without four for each number of a cell state, and for several
    dtypes. Raises RuntimeError in words of its own: PyTorch has no kernel for host memory.
    """
    named = (("hidden_gates", hidden_gates), ("cx", cx), *[("a bias", each) for each in biases])
    for name, each in named:
        if each is not None and each.dtype != input_gates.dtype:
            raise RuntimeError(
                f"Expected {name} of dtype {input_gates.dtype}, as input_gates, but got "
                f"{each.dtype}. Convert it with Tensor.to."
            )
    shape = tuple(cx.shape)
    wanted = (*shape[:-1], 4 * shape[-1]) if shape else ()
    for name, each in (("input_gates", input_gates), ("hidden_gates", hidden_gates)):
        if not shape or tuple(each.shape) != wanted:
            raise RuntimeError(
                f"Expected {name} of shape {list(wanted)}, four for each number of cx, but got "
                f"{list(each.shape)}. Multiply by a weight with 4 * hidden_size rows."
            )
    for each in biases:
        if each is not None and (not each.ndim or each.shape[-1] != wanted[-1]):
            raise RuntimeError(
                f"Expected a bias of {wanted[-1]} numbers, one for each gate, but got shape "
                f"{list(each.shape)}. Give one of 4 * hidden_size numbers."
            )


class RecurrentCells(Family):
    """One step of an LSTM."""

    @operator("_thnn_fused_lstm_cell")
    def fused_lstm_cell(
        self,
        input_gates: object,
        hidden_gates: object,
        cx: Array,
        input_bias: object = None,
        hidden_bias: object = None,
    ) -> tuple[Any, Any, Any]:
        """Return the next hidden and cell state, and the four gates."""
        check_lstm_cell(input_gates, hidden_gates, cx, input_bias, hidden_bias)
        return self._lstm_cell(input_gates, hidden_gates, cx, input_bias, hidden_bias)

    @widened
    def _lstm_cell(
        self,
        input_gates: object,
        hidden_gates: object,
        cx: Array,
        input_bias: object,
        hidden_bias: object,
    ) -> tuple[Any, Any, Any]:
        xp = self.xp
        gates = xp.add(input_gates, hidden_gates)
        for bias in (input_bias, hidden_bias):
            gates = gates if bias is None else xp.add(gates, bias)
        size = cx.shape[-1]
        entrance, kept, new, exit = [
            gates[..., start * size : (start + 1) * size] for start in range(4)
        ]
        entrance, kept, exit = map(self._sigmoid, (entrance, kept, exit))
        new = xp.tanh(new)
        cy = xp.add(xp.multiply(kept, cx), xp.multiply(entrance, new))
        return (
            xp.multiply(exit, xp.tanh(cy)),
            cy,
            xp.concatenate([entrance, kept, new, exit], axis=-1),
        )

    def _sigmoid(self, x: Array) -> Any:
        xp = self.xp
        return xp.reciprocal(xp.add(xp.exp(xp.negative(x)), self.numbers.like(x, 1)))
