"""Softmax, its logarithm and their gradients: one launch, a block of threads for every row."""

from __future__ import annotations

import math
from typing import Any

import cupy
import numpy as np

from dovetail_aten.families import Softmax
from dovetail_aten.kernel_support import wrap_dim
from dovetail_aten.typing import Array
from dovetail_kernel.typing import NativeDtype

from ..kernel_support.device_code import by_rows, launch

_ROW = """
  const long long inner = blockIdx.x % step, outer = blockIdx.x / step;
  const long long first = outer * length * step + inner;
"""
_FORWARD = """
extern "C" __global__ void dovetail_NAME(
    const T* x, T* out, const long long length, const long long step) {
  ROW
  W top = greatest_of::start();
  for (long long i = threadIdx.x; i < length; i += THREADS)
    top = greatest_of::of((W)x[first + i * step], top);
  top = across_block<greatest_of>(top);
  W sum = 0;
  for (long long i = threadIdx.x; i < length; i += THREADS)
    sum += exp((W)x[first + i * step] - top);
  sum = across_block<add_of>(sum);
  for (long long i = threadIdx.x; i < length; i += THREADS) {
    const W away = (W)x[first + i * step] - top;
    out[first + i * step] = (T)(RESULT);
  }
}
""".replace("ROW", _ROW)
_BACKWARD = """
extern "C" __global__ void dovetail_NAME(
    const T* grad, const T* y, T* out, const long long length, const long long step) {
  ROW
  W sum = 0;
  for (long long i = threadIdx.x; i < length; i += THREADS) {
    const W g = (W)grad[first + i * step], o = (W)y[first + i * step];
    sum += SUMMAND;
  }
  sum = across_block<add_of>(sum);
  for (long long i = threadIdx.x; i < length; i += THREADS) {
    const W g = (W)grad[first + i * step], o = (W)y[first + i * step];
    out[first + i * step] = (T)(RESULT);
  }
}
""".replace("ROW", _ROW)


def _code(template: str, name: str, result: str, summand: str = "") -> str:
    named = template.replace("NAME", name).replace("RESULT", result)
    return named.replace("SUMMAND", summand)


_KERNELS = {
    "softmax": _code(_FORWARD, "softmax", "exp(away) / sum"),
    "log_softmax": _code(_FORWARD, "log_softmax", "away - log(sum)"),
    "softmax_backward": _code(_BACKWARD, "softmax_backward", "o * (g - sum)", "g * o"),
    "log_softmax_backward": _code(_BACKWARD, "log_softmax_backward", "g - exp(o) * sum", "g"),
}


class FusedSoftmax(Softmax):
    """Softmax and its logarithm."""

    def softmax(self, x: Array, dim: int, half_to_float: bool) -> Any:
        """Return ``exp(x) / sum(exp(x))`` along `dim`, with the maximum taken out."""
        if half_to_float or not self._is_plain(x):
            return Softmax.softmax(self, x, dim, half_to_float)
        return self._by_rows("softmax", dim, x)

    def log_softmax(self, x: Array, dim: int, half_to_float: bool) -> Any:
        """Return ``x - log(sum(exp(x)))`` along `dim`, with the maximum taken out."""
        if half_to_float or not self._is_plain(x):
            return Softmax.log_softmax(self, x, dim, half_to_float)
        return self._by_rows("log_softmax", dim, x)

    def softmax_backward(
        self, grad_output: Array, output: Array, dim: int, input_dtype: NativeDtype
    ) -> Any:
        """Return the gradient of `softmax`, from its result."""
        if not self._fit(grad_output, output, input_dtype):
            return Softmax.softmax_backward(self, grad_output, output, dim, input_dtype)
        return self._by_rows("softmax_backward", dim, grad_output, output)

    def log_softmax_backward(
        self, grad_output: Array, output: Array, dim: int, input_dtype: object
    ) -> Any:
        """Return the gradient of `log_softmax`, from its result."""
        if not self._fit(grad_output, output, input_dtype):
            return Softmax.log_softmax_backward(self, grad_output, output, dim, input_dtype)
        return self._by_rows("log_softmax_backward", dim, grad_output, output)

    def _is_plain(self, x: Array) -> bool:
        return bool(x.size and x.ndim and x.dtype in self.precision.real_floats)

    def _fit(self, grad: Array, output: Array, wanted: object) -> bool:
        same = grad.dtype == output.dtype == wanted and grad.shape == output.shape
        return same and self._is_plain(output)

    def _by_rows(self, name: str, dim: int, *arrays: Any) -> Any:
        """Return what the kernel `name` makes of the rows of `arrays` along `dim`."""
        first = arrays[0]
        axis = wrap_dim(dim, first.ndim)
        arrays = tuple([self.capabilities.contiguous(each) for each in arrays])
        result = cupy.empty(first.shape, first.dtype)
        length = first.shape[axis]
        step = np.int64(math.prod(first.shape[axis + 1 :]))
        kernel = by_rows(name, first.dtype, _KERNELS[name])
        launch(kernel, first.size // length, *arrays, result, np.int64(length), step)
        return result
