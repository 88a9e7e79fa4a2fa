"""Layer normalization: forward in one launch, backward in two."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import cupy
import numpy as np

from dovetail_aten.families import Normalization, check_layer_norm
from dovetail_aten.typing import Array

from ...kernel_support.device_code import by_rows, launch, number
from .normalized_rows import NOTHING, OfOneDtype, codes

_FORWARD, _TO_INPUT = codes("layer_norm", "const long long length", "", "i")
_TO_WEIGHT = """
extern "C" __global__ void dovetail_layer_norm_to_weight(
    const T* grad, const T* x, const T* means, const T* rstds, T* to_weight, T* to_bias,
    const long long rows, const long long length) {
  W of_weight = 0, of_bias = 0;
  for (long long row = threadIdx.x; row < rows; row += THREADS) {
    const W g = (W)grad[row * length + blockIdx.x];
    of_bias += g;
    of_weight += g * ((W)x[row * length + blockIdx.x] - (W)means[row]) * (W)rstds[row];
  }
  of_weight = across_block<add_of>(of_weight);
  of_bias = across_block<add_of>(of_bias);
  if (threadIdx.x == 0) {
    if (to_weight) to_weight[blockIdx.x] = (T)of_weight;
    if (to_bias) to_bias[blockIdx.x] = (T)of_bias;
  }
}
"""


class FusedNormalization(OfOneDtype, Normalization):
    """Layer normalization, where all arrays have one dtype."""

    def native_layer_norm(
        self,
        input: Array,
        normalized_shape: Sequence[int],
        weight: Array | None,
        bias: Array | None,
        eps: float,
    ) -> tuple[Any, Any, Any]:
        """Return ``(input - mean) / sqrt(variance + eps) * weight + bias`` over the last
        dimensions, and mean and the reciprocal root.
        """
        lead = check_layer_norm(input, normalized_shape, weight, bias)
        if not self._are_plain(input, weight, bias):
            return Normalization.native_layer_norm(self, input, normalized_shape, weight, bias, eps)
        own, shape = input.dtype, input.shape
        contiguous = self.capabilities.contiguous
        length = math.prod(shape[lead:])
        rows = math.prod(shape[:lead])
        result = cupy.empty(shape, own)
        kept = tuple(shape[:lead]) + (1,) * (len(shape) - lead)
        mean, rstd = cupy.empty(kept, own), cupy.empty(kept, own)
        given = [NOTHING if each is None else contiguous(each) for each in (weight, bias)]
        kernel = by_rows("layer_norm", own, _FORWARD)
        launch(
            kernel, rows, contiguous(input), *given, result, mean, rstd, np.int64(length),
            number(eps),
        )  # fmt: skip
        return result, mean, rstd

    def native_layer_norm_backward(
        self,
        grad_out: Array,
        input: Array,
        normalized_shape: Sequence[int],
        mean: Array,
        rstd: Array,
        weight: Array | None,
        bias: Array,
        output_mask: Sequence[bool],
    ) -> tuple[Any, Any, Any]:
        """Return the gradients of input, weight and bias that `output_mask` asks for."""
        lead = check_layer_norm(input, normalized_shape, weight, bias)
        rows = math.prod(input.shape[:lead])
        same = grad_out.shape == input.shape and mean.size == rows == rstd.size
        if not same or not self._are_plain(input, weight, bias, grad_out, mean, rstd):
            return Normalization.native_layer_norm_backward(
                self, grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask
            )
        own, contiguous = input.dtype, self.capabilities.contiguous
        length = np.int64(math.prod(input.shape[lead:]))
        arrays = [contiguous(each) for each in (grad_out, input, mean, rstd)]
        needs_input, needs_weight, needs_bias = output_mask
        to_input = to_weight = to_bias = None
        if needs_input:
            to_input = cupy.empty(input.shape, own)
            scale = NOTHING if weight is None else contiguous(weight)
            kernel = by_rows("layer_norm_to_input", own, _TO_INPUT)
            launch(kernel, rows, *arrays, scale, to_input, length)
        if needs_weight and weight is not None:
            to_weight = cupy.empty(weight.shape, own)
        if needs_bias:
            to_bias = cupy.empty(input.shape[lead:], own)
        if to_weight is not None or to_bias is not None:
            made = [NOTHING if each is None else each for each in (to_weight, to_bias)]
            kernel = by_rows("layer_norm_to_weight", own, _TO_WEIGHT)
            launch(kernel, int(length), *arrays, *made, np.int64(rows), length)
        return to_input, to_weight, to_bias
