"""The negative log likelihood of many samples that all count alike: one look-up forward, one
assignment backward.

And cross entropy between classes as one computation, whose gradient is known in closed form:
``softmax - one_hot``.
"""

from __future__ import annotations

from typing import Any, Final

import numpy

from dovetail_aten.array_kernels.likelihood import Likelihood
from dovetail_aten.array_kernels.losses import MEAN, NONE

from .accumulation import gathered, scatter_into
from .constants import numbers_below, ones_of, starts_of_rows
from .fast_softmax import is_small, small_log_softmax

_SINGLE: Final = numpy.dtype(numpy.float32)
_DOUBLE: Final = numpy.dtype(numpy.float64)
_LONG: Final = numpy.dtype(numpy.int64)
_FEW: Final = 1 << 12
"""Scores up to which those of the classes are multiplied by weights at once."""
_LONGEST: Final = 1 << 12
"""Longest sum left to BLAS, which does not add pairwise."""
_add: Any = numpy.add.reduce
_array, _zeros, _exp, _multiply = numpy.array, numpy.zeros, numpy.exp, numpy.multiply


def _loss_of(chosen: Any, reduction: int) -> tuple[Any, Any]:
    """Return the loss and the weight of samples that all count alike, from the logarithms of the
    probabilities of their classes.
    """
    samples, dtype = len(chosen), chosen.dtype
    # Python's arithmetic costs a fifth of that of 0-d arrays; being in double precision it rounds
    # to the same. Taken from zero, as a sum of zeros is no negative one.
    total = chosen.dot(ones_of(samples, dtype)) if samples <= _LONGEST else _add(chosen)
    total = 0.0 - total.item()
    return _array(total / samples if reduction == MEAN else total, dtype), _array(samples, dtype)


class FastLikelihood(Likelihood):
    """Losses of samples that all count alike."""

    def _all_count(self, x: Any, target: Any, weight: Any, ignore_index: int) -> bool:
        """Return whether every sample has a class of its own in range, and none is weighted or
        ignored.
        """
        if weight is not None or x.ndim != 2 or target.dtype is not _LONG:
            return False
        samples, classes = x.shape
        if target.shape != (samples,) or not samples or 0 <= ignore_index < classes:
            return False
        if x.dtype is not _SINGLE and x.dtype is not _DOUBLE:
            return False
        return self.capabilities.are_below(target, classes)

    def _index_of_images(self, x: Any, target: Any, weight: Any, ignore_index: int) -> Any:
        """Return the classes as an index along the channels of images in C order that are read as
        lines ``(N, C, H * W)``; None if not all places count alike.
        """
        if weight is not None or x.ndim != 4 or not x.size or target.dtype is not _LONG:
            return None
        images, classes, *sizes = x.shape
        if target.shape != (images, *sizes) or 0 <= ignore_index < classes:
            return None
        if (x.dtype is not _SINGLE and x.dtype is not _DOUBLE) or not x.flags.c_contiguous:
            return None
        if not self.capabilities.are_below(target, classes):
            return None
        return target.reshape(images, 1, -1)

    def nll_loss_forward(
        self, x: Any, target: Any, weight: Any, reduction: int, ignore_index: int
    ) -> tuple[Any, Any]:
        """Return the loss and the weight; of samples that all count alike by one look-up."""
        if weight is not None and x.ndim and x.size <= _FEW:
            made = self._weighted(x, target, weight, reduction, ignore_index)
            if made is not None:
                return made
        if reduction == NONE or not self._all_count(x, target, weight, ignore_index):
            return Likelihood.nll_loss_forward(self, x, target, weight, reduction, ignore_index)
        return _loss_of(x[numbers_below(len(target)), target], reduction)

    def _weighted(
        self, x: Any, target: Any, weight: Any, reduction: int, ignore_index: int
    ) -> tuple[Any, Any] | None:
        """Return the loss and the weight of few samples that all have a class; None of others."""
        rows = x if x.ndim == 2 else x.reshape(1, -1)
        classes = target if x.ndim == 2 else target.reshape(-1)
        dtype = x.dtype
        if not self._all_count(rows, classes, None, ignore_index):
            return None
        if weight.dtype is not dtype or weight.shape != rows.shape[1:]:
            return None
        picked = rows[numbers_below(len(classes)), classes]
        weights = weight.take(classes)
        if reduction == NONE and x.ndim == 2:
            losses = _multiply(picked, weights)
            return numpy.negative(losses, losses), numpy.zeros((), dtype)
        count = ones_of(len(classes), dtype).dot(weights)
        total = 0.0 - picked.dot(weights)  # what is certain is no negative zero
        return _array(total / count if reduction == MEAN else total), _array(count)

    def nll_loss2d_forward(
        self, x: Any, target: Any, weight: Any, reduction: int, ignore_index: int
    ) -> tuple[Any, Any]:
        """Return the loss and the weight of the places of images, by one look-up."""
        index = self._index_of_images(x, target, weight, ignore_index)
        if reduction == NONE or index is None:
            return Likelihood.nll_loss2d_forward(self, x, target, weight, reduction, ignore_index)
        lines = x.reshape(*x.shape[:2], -1)
        return _loss_of(gathered(lines, 1, index).reshape(-1), reduction)

    def nll_loss2d_backward(
        self,
        grad_output: Any,
        x: Any,
        target: Any,
        weight: Any,
        reduction: int,
        ignore_index: int,
        total_weight: Any,
    ) -> Any:
        """Return the gradient of the loss of the places of images, by one assignment."""
        index = self._index_of_images(x, target, weight, ignore_index)
        count = total_weight.item() if total_weight.size == 1 else 0
        if reduction == NONE or not count or grad_output.size != 1 or index is None:
            return Likelihood.nll_loss2d_backward(
                self, grad_output, x, target, weight, reduction, ignore_index, total_weight
            )
        slope = -grad_output.item() / (count if reduction == MEAN else 1)
        made = _zeros(x.shape, x.dtype)
        lines = made.reshape(*x.shape[:2], -1)
        scatter_into(lines, 1, index, _array(slope, x.dtype), None)
        return made

    def nll_loss_backward(
        self,
        grad_output: Any,
        x: Any,
        target: Any,
        weight: Any,
        reduction: int,
        ignore_index: int,
        total_weight: Any,
    ) -> Any:
        """Return the gradient of the loss; of samples that all count alike by one assignment."""
        count = total_weight.item() if total_weight.size == 1 else 0
        if (
            reduction == NONE
            or not count
            or grad_output.size != 1
            or not self._all_count(x, target, weight, ignore_index)
        ):
            return Likelihood.nll_loss_backward(
                self, grad_output, x, target, weight, reduction, ignore_index, total_weight
            )
        slope = -grad_output.item()
        result = _zeros(x.shape, x.dtype)
        result[numbers_below(len(target)), target] = slope / count if reduction == MEAN else slope
        return result

    def cross_entropy(
        self, x: Any, target: Any, reduction: int, ignore_index: int
    ) -> tuple[Any, Any, Any]:
        """Return the loss, the logarithms of the probabilities, and the number of samples."""
        if (
            reduction == NONE
            or not is_small(x, 1)
            or not self._all_count(x, target, None, ignore_index)
        ):
            return Likelihood.cross_entropy(self, x, target, reduction, ignore_index)
        output = small_log_softmax(x)
        samples, dtype = len(target), x.dtype
        chosen = output.reshape(-1).take(starts_of_rows(*x.shape) + target)
        loss = 0.0 - chosen.dot(ones_of(samples, dtype)).item()
        return (
            _array(loss / samples if reduction == MEAN else loss, dtype),
            output,
            _array(samples, dtype),
        )

    def cross_entropy_backward(
        self,
        grad_output: Any,
        output: Any,
        target: Any,
        reduction: int,
        ignore_index: int,
        total_weight: Any,
    ) -> Any:
        """Return ``softmax - one_hot``, the gradient of the logits, times that of the loss."""
        samples, dtype = len(target), output.dtype
        if (
            reduction == NONE
            or not is_small(output, 1)
            or grad_output.dtype is not dtype
            or grad_output.size != 1
            or total_weight.item() != samples
        ):
            return Likelihood.cross_entropy_backward(
                self, grad_output, output, target, reduction, ignore_index, total_weight
            )
        # No target is ignored, and forward found them in range.
        slope = grad_output.item()
        result = _exp(output)
        result.reshape(-1)[starts_of_rows(*output.shape) + target] -= 1
        return _multiply(
            result, _array(slope / samples if reduction == MEAN else slope, dtype), out=result
        )
