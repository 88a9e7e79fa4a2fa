"""The loss of classes and its gradient: one launch each, and no waiting for the device."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from dovetail_aten.families import Likelihood
from dovetail_aten.typing import Array

from ..index_errors import CLASS, REPORT_CODE, raise_if_blocking, report_of_device
from ..kernel_support.device_code import by_rows, launch

_NONE, _MEAN = 0, 1
_NOTHING = np.uintp(0)
_CLASS = f"""
{REPORT_CODE}
// Return whether a sample counts; a class that there is not is reported, and does not.
__device__ bool counts(
    long long target, long long classes, long long ignored, long long* report) {{
  if (target == ignored) return false;
  if (target >= 0 && target < classes) return true;
  report_index(report, {CLASS}, target, 0, classes);
  return false;
}}
"""
_FORWARD = f"""{_CLASS}
extern "C" __global__ void dovetail_nll_loss(
    const T* x, const long long* target, const T* weight, T* loss, T* total,
    const long long samples, const long long classes, const long long ignored,
    const long long reduction, long long* report) {{
  W sum = 0, weights = 0;
  for (long long i = threadIdx.x; i < samples; i += THREADS) {{
    const bool counted = counts(target[i], classes, ignored, report);
    const W w = counted ? (weight ? (W)weight[target[i]] : (W)1) : (W)0;
    const W each = counted ? -(W)x[i * classes + target[i]] * w : (W)0;
    if (reduction == {_NONE}) loss[i] = (T)each;
    sum += each;
    weights += w;
  }}
  sum = across_block<add_of>(sum);
  weights = across_block<add_of>(weights);
  if (threadIdx.x == 0) {{
    if (reduction != {_NONE}) loss[0] = (T)(reduction == {_MEAN} ? sum / weights : sum);
    total[0] = (T)(reduction == {_NONE} ? (W)0 : weights);
  }}
}}
"""
_BACKWARD = f"""{_CLASS}
extern "C" __global__ void dovetail_nll_loss_backward(
    const T* grad, const long long* target, const T* weight, const T* total, T* out,
    const long long classes, const long long ignored, const long long reduction,
    long long* report) {{
  const long long sample = blockIdx.x, own = target[sample];
  const bool counted = counts(own, classes, ignored, report);
  W slope = counted ? -(W)grad[reduction == {_NONE} ? sample : 0] : (W)0;
  if (counted && reduction == {_MEAN}) slope /= (W)total[0];
  if (counted && weight) slope *= (W)weight[own];
  for (long long i = threadIdx.x; i < classes; i += THREADS)
    out[sample * classes + i] = counted && i == own ? (T)slope : (T)(W)0;
}}
"""


class FusedLikelihood(Likelihood):
    """Losses of classes, of samples in a matrix."""

    def nll_loss_forward(
        self, x: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int
    ) -> tuple[Any, Any]:
        """Return minus the logarithms of the probabilities of the target classes, weighted and
        reduced, and the sum of the weights.
        """
        self._check(x, target, weight)
        if not self._is_plain(x, target):
            return Likelihood.nll_loss_forward(self, x, target, weight, reduction, ignore_index)
        samples, classes = x.shape
        loss = cupy.empty((samples,) if reduction == _NONE else (), x.dtype)
        total = cupy.empty((), x.dtype)
        contiguous = self.capabilities.contiguous
        launch(
            by_rows("nll_loss", x.dtype, _FORWARD), 1, contiguous(x), contiguous(target),
            _NOTHING if weight is None else contiguous(weight), loss, total, np.int64(samples),
            np.int64(classes), np.int64(ignore_index), np.int64(reduction), report_of_device(),
        )  # fmt: skip
        raise_if_blocking()
        return loss, total

    def nll_loss_backward(
        self,
        grad_output: Array,
        x: Array,
        target: Array,
        weight: Array | None,
        reduction: int,
        ignore_index: int,
        total_weight: Array,
    ) -> Any:
        """Return the gradient of `nll_loss_forward`: minus the weight at the target classes, else
        0.
        """
        self._check(x, target, weight)
        expected = target.size if reduction == _NONE else 1
        fit = grad_output.size == expected and total_weight.size == 1
        if not fit or not self._is_plain(x, target, grad_output, total_weight):
            return Likelihood.nll_loss_backward(
                self, grad_output, x, target, weight, reduction, ignore_index, total_weight
            )
        contiguous = self.capabilities.contiguous
        result = cupy.empty(x.shape, x.dtype)
        launch(
            by_rows("nll_loss_backward", x.dtype, _BACKWARD), x.shape[0], contiguous(grad_output),
            contiguous(target), _NOTHING if weight is None else contiguous(weight), total_weight,
            result, np.int64(x.shape[1]), np.int64(ignore_index), np.int64(reduction),
            report_of_device(),
        )  # fmt: skip
        raise_if_blocking()
        return result

    def _is_plain(self, x: Array, target: Array, *others: Any) -> bool:
        same = all([each.dtype == x.dtype for each in others])
        return bool(same and x.ndim == 2 and x.size and target.dtype == self._long)
