"""All steps of a layer of an LSTM, by compiled code and small products in one thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_aten.families import RecurrentSequences
from dovetail_aten.typing import Array

from ..parallel.blas_threads import numpy_in_calling_thread


class OneThreadSequences(RecurrentSequences):
    """Sequences whose steps multiply small matrices: two BLAS threads would wait for each other at
    every step.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        compiled = self.capabilities.compiled
        self._steps = compiled("lstm_steps", super().lstm_sequence)
        self._steps_backward = compiled("lstm_steps.backward", super().lstm_sequence_backward)

    def lstm_sequence(
        self,
        gates: object,
        hx: object,
        cx: Array,
        weight: Array,
        bias: object = None,
        reverse: bool = False,
    ) -> tuple[Any, Any, Any]:
        with numpy_in_calling_thread(_count(cx, weight)):
            made: tuple[Any, Any, Any] = self._steps(gates, hx, cx, weight, bias, reverse)
        return made

    def lstm_sequence_backward(
        self,
        grads: Sequence[object],
        hx: object,
        cx: Array,
        weight: Array,
        bias: object,
        hidden: object,
        cells: object,
        gates: object,
        reverse: bool,
        mask: Sequence[bool],
    ) -> tuple[Any, ...]:
        """Return the gradients of the gates before they were opened, of the first states, and of
        the weight and bias where `mask` asks for them.
        """
        with numpy_in_calling_thread(_count(cx, weight)):
            made: tuple[Any, ...] = self._steps_backward(
                grads, hx, cx, weight, bias, hidden, cells, gates, reverse, mask
            )
        return made


def _count(cx: Array, weight: Array) -> int:
    """Return how many numbers are multiplied in a step; any number for shapes that do not fit."""
    rows: int = cx.shape[0] if cx.ndim else 0
    return rows * int(weight.size)
