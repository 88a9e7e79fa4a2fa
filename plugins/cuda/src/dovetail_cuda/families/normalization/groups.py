"""Normalization in groups of channels: forward in one launch, a block of threads a group; backward
in two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cupy
import numpy as np

from dovetail_aten.families import ChannelNormalization, check_group_norm
from dovetail_aten.typing import Array

from ...kernel_support.device_code import by_rows, launch, number
from .normalized_rows import NOTHING, OfOneDtype, codes

_FORWARD, _TO_INPUT = codes(
    "group_norm",
    "const long long groups, const long long channels, const long long inner",
    "const long long length = channels * inner, lead = blockIdx.x % groups * channels;",
    "lead + i / inner",
)
_TO_WEIGHT = """
extern "C" __global__ void dovetail_group_norm_to_weight(
    const T* grad, const T* x, const T* means, const T* rstds, T* to_weight, T* to_bias,
    const long long samples, const long long groups, const long long channels,
    const long long inner) {
  const long long all = groups * channels;
  W of_weight = 0, of_bias = 0;
  for (long long at = threadIdx.x; at < samples * inner; at += THREADS) {
    const long long sample = at / inner, group = sample * groups + blockIdx.x / channels;
    const long long i = (sample * all + blockIdx.x) * inner + at % inner;
    of_bias += (W)grad[i];
    of_weight += (W)grad[i] * ((W)x[i] - (W)means[group]) * (W)rstds[group];
  }
  of_weight = across_block<add_of>(of_weight);
  of_bias = across_block<add_of>(of_bias);
  if (threadIdx.x == 0) {
    if (to_weight) to_weight[blockIdx.x] = (T)of_weight;
    if (to_bias) to_bias[blockIdx.x] = (T)of_bias;
  }
}
"""


class FusedGroups(OfOneDtype, ChannelNormalization):
    """Normalization in groups, where all arrays have one dtype."""

    def group_norm(
        self, x: Array, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float
    ) -> tuple[Any, Any, Any]:
        """Return ``(x - mean) / sqrt(variance + eps) * weight + bias`` with one mean and variance
        for each group of channels of a sample, and those.
        """
        check_group_norm(x.shape, weight, bias, C, group)
        if not self._are_plain(x, weight, bias):
            return ChannelNormalization.group_norm(self, x, weight, bias, N, C, HxW, group, eps)
        own, contiguous = x.dtype, self.capabilities.contiguous
        result = cupy.empty(x.shape, own)
        mean, rstd = (cupy.empty((N, group), own) for _ in range(2))
        given = [NOTHING if each is None else contiguous(each) for each in (weight, bias)]
        launch(
            by_rows("group_norm", own, _FORWARD), N * group, contiguous(x), *given, result, mean,
            rstd, *_sizes(C, HxW, group), number(eps),
        )  # fmt: skip
        return result, mean, rstd

    def group_norm_backward(
        self,
        grad_out: Array,
        x: Array,
        mean: Array,
        rstd: Array,
        weight: Array | None,
        N: int,
        C: int,
        HxW: int,
        group: int,
        output_mask: Sequence[bool],
    ) -> tuple[Any, Any, Any]:
        """Return the gradients of input, weight and bias that `output_mask` asks for."""
        check_group_norm(x.shape, weight, None, C, group)
        if grad_out.shape != x.shape or not self._are_plain(x, grad_out, mean, rstd, weight):
            return ChannelNormalization.group_norm_backward(
                self, grad_out, x, mean, rstd, weight, N, C, HxW, group, output_mask
            )
        own, contiguous = x.dtype, self.capabilities.contiguous
        arrays = [contiguous(each) for each in (grad_out, x, mean, rstd)]
        sizes = _sizes(C, HxW, group)
        to_input, to_weight, to_bias = (
            cupy.empty(shape, own) if wanted else None
            for shape, wanted in zip((x.shape, (C,), (C,)), output_mask, strict=True)
        )
        if to_input is not None:
            scale = NOTHING if weight is None else contiguous(weight)
            kernel = by_rows("group_norm_to_input", own, _TO_INPUT)
            launch(kernel, N * group, *arrays, scale, to_input, *sizes)
        if to_weight is not None or to_bias is not None:
            made = [NOTHING if each is None else each for each in (to_weight, to_bias)]
            kernel = by_rows("group_norm_to_weight", own, _TO_WEIGHT)
            launch(kernel, C, *arrays, *made, np.int64(N), *sizes)
        return to_input, to_weight, to_bias


def _sizes(channels: int, inner: int, group: int) -> tuple[Any, Any, Any]:
    """Return the groups of a sample, the channels of a group, and the elements of a channel."""
    return np.int64(group), np.int64(channels // group), np.int64(inner)
