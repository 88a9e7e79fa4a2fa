"""Dropout in one launch: the numbers are drawn where they are used."""

from __future__ import annotations

from typing import Any

import cupy

from dovetail_aten.families import Random
from dovetail_aten.typing import Array

from ...kernel_support.device_code import WIDE
from ...kernel_support.philox import DEVICE_CODE

_dropout = cupy.ElementwiseKernel(
    "T x, uint64 seed, uint64 draw, float32 kept, float64 scale",
    "T y, bool mask",
    """typedef typename wide_of<T>::type W;
    mask = uniform_bits(philox(seed, draw, i).x, 24) < kept;
    y = mask ? (T)(WIDE(x) * (W)scale) : (T)(WIDE(x) * 0);""",
    "dovetail_dropout",
    preamble=WIDE + DEVICE_CODE,
)
_masked = cupy.ElementwiseKernel(
    "T grad, M mask, float64 scale",
    "T y",
    """typedef typename wide_of<T>::type W;
    y = (T)(WIDE(grad) * (W)mask * (W)scale);""",
    "dovetail_dropout_backward",
    preamble=WIDE,
)


class FusedRandom(Random):
    """Dropout and its gradient."""

    def native_dropout(self, input: Array, p: float, train: bool | None) -> tuple[Any, Any]:
        """Return `input` with elements dropped with probability `p` and the others scaled by ``1 /
        (1 - p)``, and the mask of the kept.
        """
        if train is False or not 0 < p < 1 or input.dtype not in self.precision.real_floats:
            return Random.native_dropout(self, input, p, train)
        arrays: Any = self.capabilities
        seed, draw = arrays.source(None).draw()
        y = cupy.empty(input.shape, input.dtype)
        mask = cupy.empty(input.shape, cupy.bool_)
        _dropout(input, seed, draw, 1 - p, 1 / (1 - p), y, mask)
        return y, mask

    def native_dropout_backward(self, grad_output: Array, mask: Array, scale: float) -> Any:
        """Return the gradient of dropout: that of the kept elements, scaled."""
        if grad_output.dtype not in self.precision.real_floats:
            return Random.native_dropout_backward(self, grad_output, mask, scale)
        return _masked(grad_output, mask, scale)
