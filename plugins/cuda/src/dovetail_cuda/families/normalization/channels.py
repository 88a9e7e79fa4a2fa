"""Batch normalization: forward in one launch, backward in one, a block of threads a channel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import cupy
import numpy as np

from dovetail_aten.families import ChannelNormalization, check_batch_norm
from dovetail_aten.typing import Array

from ...kernel_support.device_code import by_rows, launch, number
from .groups import FusedGroups
from .normalized_rows import NOTHING

_EACH = """
  for (long long at = threadIdx.x; at < images * inner; at += THREADS) {
    const long long i = ((at / inner) * channels + channel) * inner + at % inner;
"""
_FORWARD = """
extern "C" __global__ void dovetail_batch_norm(
    const T* x, const T* weight, const T* bias, const T* running_mean, const T* running_var, T* out,
    T* means, T* rstds, T* new_mean, T* new_var, const long long images, const long long channels,
    const long long inner, const int training, const double momentum, const double eps) {
  const long long channel = blockIdx.x, count = images * inner;
  W mean, variance;
  if (training) {
    W sum = 0;
    EACH sum += (W)x[i]; }
    mean = across_block<add_of>(sum) / count;
    W squares = 0;
    EACH const W away = (W)x[i] - mean; squares += away * away; }
    squares = across_block<add_of>(squares);
    variance = squares / count;
    if (threadIdx.x == 0) {
      const W old_mean = (W)running_mean[channel], old_var = (W)running_var[channel];
      const W unbiased = count > 1 ? squares / (count - 1) : (W)nan("");
      new_mean[channel] = (T)(old_mean * (W)(1 - momentum) + mean * (W)momentum);
      new_var[channel] = (T)(old_var * (W)(1 - momentum) + unbiased * (W)momentum);
    }
  } else {
    mean = (W)running_mean[channel];
    variance = (W)running_var[channel];
    if (threadIdx.x == 0) {
      new_mean[channel] = running_mean[channel];
      new_var[channel] = running_var[channel];
    }
  }
  const W rstd = 1 / sqrt(variance + (W)eps);
  if (training && threadIdx.x == 0) {
    means[channel] = (T)mean;
    rstds[channel] = (T)rstd;
  }
  const W scale = weight ? rstd * (W)weight[channel] : rstd;
  const W shift = bias ? (W)bias[channel] : (W)0;
  EACH out[i] = (T)(((W)x[i] - mean) * scale + shift); }
}
""".replace("EACH", _EACH)
_BACKWARD = """
extern "C" __global__ void dovetail_batch_norm_backward(
    const T* grad, const T* x, const T* weight, const T* means, const T* spreads, T* to_input,
    T* to_weight, T* to_bias, const long long images, const long long channels,
    const long long inner, const int training, const double eps) {
  const long long channel = blockIdx.x, count = images * inner;
  const W mean = (W)means[channel], spread = (W)spreads[channel];
  const W rstd = training ? spread : 1 / sqrt(spread + (W)eps);
  W total = 0, along = 0;
  EACH
    total += (W)grad[i];
    along += (W)grad[i] * ((W)x[i] - mean) * rstd;
  }
  total = across_block<add_of>(total);
  along = across_block<add_of>(along);
  if (threadIdx.x == 0) {
    if (to_weight) to_weight[channel] = (T)along;
    if (to_bias) to_bias[channel] = (T)total;
  }
  if (!to_input) return;
  const W scale = weight ? rstd * (W)weight[channel] : rstd;
  const W straight = training ? total / count : (W)0, bent = training ? along / count : (W)0;
  EACH to_input[i] = (T)(((W)grad[i] - straight - ((W)x[i] - mean) * rstd * bent) * scale); }
}
""".replace("EACH", _EACH)


class FusedChannelNormalization(FusedGroups):
    """Batch and group normalization, where all arrays have one dtype."""

    def batch_norm(
        self,
        x: Any,
        weight: Any,
        bias: Any,
        running_mean: Any,
        running_var: Any,
        training: bool,
        momentum: float,
        eps: float,
    ) -> tuple[Any, Any, Any, Any, Any]:
        """Return ``(x - mean) / sqrt(variance + eps) * weight + bias`` with one mean and variance
        for each channel, those, and the running ones as they are from now on.
        """
        given = (weight, bias, running_mean, running_var)
        check_batch_norm(x.shape, *given)
        if not self._are_plain(x, *given):
            return ChannelNormalization.batch_norm(
                self, x, weight, bias, running_mean, running_var, training, momentum, eps
            )
        own, channels = x.dtype, x.shape[1]
        contiguous = self.capabilities.contiguous
        result = cupy.empty(x.shape, own)
        of_batch = [cupy.empty(channels if training else 0, own) for _ in range(2)]
        followed = [cupy.empty(each.shape, own) for each in (running_mean, running_var)]
        arrays = [NOTHING if each is None else contiguous(each) for each in given]
        launch(
            by_rows("batch_norm", own, _FORWARD), channels, contiguous(x), *arrays, result,
            *of_batch, *followed, *_sizes(x), np.int32(training), number(momentum), number(eps),
        )  # fmt: skip
        mean, rstd = of_batch
        new_mean, new_var = followed
        return result, mean, rstd, new_mean, new_var

    def batch_norm_backward(
        self,
        grad_out: Any,
        x: Any,
        weight: Any,
        running_mean: Any,
        running_var: Any,
        save_mean: Any,
        save_invstd: Any,
        train: bool,
        eps: float,
        output_mask: Sequence[bool],
    ) -> tuple[Any, Any, Any]:
        """Return the gradients of input, weight and bias that `output_mask` asks for."""
        check_batch_norm(x.shape, weight, None, running_mean, running_var)
        used = (save_mean, save_invstd) if train else (running_mean, running_var)
        fit = grad_out.shape == x.shape and all(
            [each is not None and each.size == x.shape[1] for each in used]
        )
        others = (grad_out, weight, *used)
        if not fit or not self._are_plain(x, *others):
            return ChannelNormalization.batch_norm_backward(
                self, grad_out, x, weight, running_mean, running_var, save_mean, save_invstd, train,
                eps, output_mask,
            )  # fmt: skip
        own, channels = x.dtype, x.shape[1]
        contiguous = self.capabilities.contiguous
        shapes = (x.shape, (channels,), (channels,))
        made = [
            cupy.empty(shape, own) if wanted else None
            for shape, wanted in zip(shapes, output_mask, strict=True)
        ]
        scale = NOTHING if weight is None else contiguous(weight)
        launch(
            by_rows("batch_norm_backward", own, _BACKWARD), channels, contiguous(grad_out),
            contiguous(x), scale, *[contiguous(each) for each in used],
            *[NOTHING if each is None else each for each in made], *_sizes(x), np.int32(train),
            number(eps),
        )  # fmt: skip
        to_input, to_weight, to_bias = made
        return to_input, to_weight, to_bias


def _sizes(x: Array) -> tuple[Any, Any, Any]:
    """Return the numbers of images and channels, and the elements of one channel of an image."""
    images, channels, *inner = x.shape
    return np.int64(images), np.int64(channels), np.int64(math.prod(inner))
