"""The negative log likelihood of many samples that all count alike: one look-up forward, one
assignment backward.

And cross entropy between classes as one computation, whose gradient is known in closed form:
``softmax - one_hot``.
"""

from __future__ import annotations

from typing import Any, Final

import numpy

from dovetail_aten.array_kernels import KernelTable
from dovetail_aten.array_kernels.capabilities import Capabilities

from .constants import numbers_below, ones_of, starts_of_rows
from .fast_softmax import is_small, small_log_softmax

NONE, MEAN = 0, 1
_SINGLE: Final = numpy.dtype(numpy.float32)
_DOUBLE: Final = numpy.dtype(numpy.float64)
_LONG: Final = numpy.dtype(numpy.int64)
_UNSIGNED: Final = numpy.dtype(numpy.uint64)
_LONGEST: Final = 1 << 12
"""Longest sum left to BLAS, which does not add pairwise."""


def define(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    """Define the kernels of this family."""
    generic_forward = kernel.kernels["nll_loss_forward"].fn
    generic_backward = kernel.kernels["nll_loss_backward"].fn
    highest: Any = numpy.maximum.reduce
    add: Any = numpy.add.reduce
    array, zeros = numpy.array, numpy.zeros

    def all_count(self: Any, target: Any, weight: Any, ignore_index: int) -> bool:
        """Return whether every sample has a class of its own in range, and none is weighted or
        ignored.
        """
        if weight is not None or self.ndim != 2 or target.dtype is not _LONG:
            return False
        samples, classes = self.shape
        if target.shape != (samples,) or not samples or 0 <= ignore_index < classes:
            return False
        if self.dtype is not _SINGLE and self.dtype is not _DOUBLE:
            return False
        # Read as unsigned, a negative class is beyond the last one too.
        return bool(highest(target.view(_UNSIGNED)) < classes)

    @kernel.named("nll_loss_forward")
    def nll_loss_forward(
        self: Any, target: Any, weight: Any, reduction: int, ignore_index: int
    ) -> tuple[Any, Any]:
        if reduction == NONE or not all_count(self, target, weight, ignore_index):
            general: tuple[Any, Any] = generic_forward(
                self, target, weight, reduction, ignore_index
            )
            return general
        samples = len(target)
        dtype = self.dtype
        chosen = self[numbers_below(samples), target]
        # Python's arithmetic costs a fifth of that of 0-d arrays; being in double precision it
        # rounds to the same. Taken from zero, as a sum of zeros is no negative one.
        total = (
            0.0
            - (chosen.dot(ones_of(samples, dtype)) if samples <= _LONGEST else add(chosen)).item()
        )
        return array(total / samples if reduction == MEAN else total, dtype), array(samples, dtype)

    @kernel.named("nll_loss_backward")
    def nll_loss_backward(
        grad_output: Any,
        self: Any,
        target: Any,
        weight: Any,
        reduction: int,
        ignore_index: int,
        total_weight: Any,
    ) -> Any:
        count = total_weight.item() if total_weight.size == 1 else 0
        if (
            reduction == NONE
            or not count
            or grad_output.size != 1
            or not all_count(self, target, weight, ignore_index)
        ):
            return generic_backward(
                grad_output, self, target, weight, reduction, ignore_index, total_weight
            )
        slope = -grad_output.item()
        result = zeros(self.shape, self.dtype)
        result[numbers_below(len(target)), target] = slope / count if reduction == MEAN else slope
        return result

    generic_cross_entropy = kernel.helpers["cross_entropy"]
    generic_cross_entropy_backward = kernel.helpers["cross_entropy_backward"]
    exp, multiply = numpy.exp, numpy.multiply

    @kernel.helper("cross_entropy")
    def cross_entropy(
        self: Any, target: Any, reduction: int, ignore_index: int
    ) -> tuple[Any, Any, Any]:
        if (
            reduction == NONE
            or not is_small(self, 1)
            or not all_count(self, target, None, ignore_index)
        ):
            return generic_cross_entropy(self, target, reduction, ignore_index)  # type: ignore[no-any-return]
        output = small_log_softmax(self)
        samples, dtype = len(target), self.dtype
        chosen = output.reshape(-1).take(starts_of_rows(*self.shape) + target)
        loss = 0.0 - chosen.dot(ones_of(samples, dtype)).item()
        return (
            array(loss / samples if reduction == MEAN else loss, dtype),
            output,
            array(samples, dtype),
        )

    @kernel.helper("cross_entropy_backward")
    def cross_entropy_backward(
        grad_output: Any,
        output: Any,
        target: Any,
        reduction: int,
        ignore_index: int,
        total_weight: Any,
    ) -> Any:
        samples, dtype = len(target), output.dtype
        if (
            reduction == NONE
            or not is_small(output, 1)
            or grad_output.dtype is not dtype
            or grad_output.size != 1
            or total_weight.item() != samples
        ):
            return generic_cross_entropy_backward(
                grad_output, output, target, reduction, ignore_index, total_weight
            )
        # No target is ignored, and forward found them in range.
        slope = grad_output.item()
        result = exp(output)
        result.reshape(-1)[starts_of_rows(*output.shape) + target] -= 1
        return multiply(
            result, array(slope / samples if reduction == MEAN else slope, dtype), out=result
        )
