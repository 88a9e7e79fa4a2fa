"""The negative log likelihood of many samples that all count alike: one look-up forward, one
assignment backward.
"""

from __future__ import annotations

from typing import Any, Final

import numpy

from dovetail_aten.families.losses.kernels.likelihood import Likelihood, no_class
from dovetail_aten.kernel_support.loss_reductions import MEAN, NONE

from .constants import numbers_below, ones_of

_SINGLE: Final = numpy.dtype(numpy.float32)
_DOUBLE: Final = numpy.dtype(numpy.float64)
_LONG: Final = numpy.dtype(numpy.int64)
_UNSIGNED: Final = numpy.dtype(numpy.uint64)
_LONGEST: Final = 1 << 12
"""Longest sum left to BLAS, which does not add pairwise."""
_highest: Any = numpy.maximum.reduce
_add: Any = numpy.add.reduce
_array, _zeros, _exp, _multiply = numpy.array, numpy.zeros, numpy.exp, numpy.multiply


def is_plain(x: Any, target: Any) -> bool:
    """Return whether logarithms are in single or double precision, and classes int64."""
    return (x.dtype is _SINGLE or x.dtype is _DOUBLE) and target.dtype is _LONG


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
        # Read as unsigned, a negative class is beyond the last one too.
        unsigned = target.view(_UNSIGNED)
        if samples <= _LONGEST:  # then this costs half of a reduction
            return bool(unsigned.item(unsigned.argmax()) < classes)
        return bool(_highest(unsigned) < classes)

    def nll_loss_forward(
        self, x: Any, target: Any, weight: Any, reduction: int, ignore_index: int
    ) -> tuple[Any, Any]:
        """Return the loss and the weight; of samples that all count alike by one look-up."""
        if reduction == NONE or not self._all_count(x, target, weight, ignore_index):
            return self._of_some(x, target, weight, reduction, ignore_index)
        samples = len(target)
        dtype = x.dtype
        chosen = x[numbers_below(samples), target]
        # Python's arithmetic costs a fifth of that of 0-d arrays; being in double precision it
        # rounds to the same. Taken from zero, as a sum of zeros is no negative one.
        total = (
            0.0
            - (chosen.dot(ones_of(samples, dtype)) if samples <= _LONGEST else _add(chosen)).item()
        )
        loss = total / samples if reduction == MEAN else total
        return _array(loss, dtype), _array(samples, dtype)

    def _counted(self, target: Any, count: int, ignore_index: int) -> tuple[Any, Any]:
        """Return which samples are not ignored, and their classes."""
        classes = target.reshape(-1)
        places = (classes != ignore_index).nonzero()[0]
        classes = classes.take(places)
        if len(classes) and not _highest(classes.view(_UNSIGNED)) < count:
            wrong = numpy.logical_or(classes < 0, classes >= count)
            raise no_class(count, classes[wrong.argmax()])
        return places, classes

    def _of_some(
        self, x: Any, target: Any, weight: Any, reduction: int, ignore_index: int
    ) -> tuple[Any, Any]:
        """Return the loss and the weight of samples of which some are ignored or count more."""
        if not is_plain(x, target):
            return Likelihood.nll_loss_forward(self, x, target, weight, reduction, ignore_index)
        self._check(x, target, weight)
        rows = x if x.ndim == 2 else x.reshape(1, -1)
        samples, count = rows.shape
        places, classes = self._counted(target, count, ignore_index)
        is_none = reduction == NONE and x.ndim == 2
        return self._weighed(
            rows[places, classes], places, classes, weight, reduction, samples if is_none else None
        )

    def _weighed(
        self,
        chosen: Any,
        places: Any,
        classes: Any,
        weight: Any,
        reduction: int,
        samples: int | None,
    ) -> tuple[Any, Any]:
        """Return the losses of `samples`, or, for None, their sum or mean; and the weight."""
        dtype = chosen.dtype
        weights = ones_of(len(places), dtype) if weight is None else weight.take(classes)
        if samples is not None:
            losses = _zeros(samples, dtype)
            losses[places] = numpy.negative(chosen) * weights
            return losses, _zeros((), dtype)
        is_short = len(places) <= _LONGEST
        total = dtype.type(0) - (chosen.dot(weights) if is_short else _add(chosen * weights))
        total_weight = _add(weights)
        if reduction == MEAN:
            total = total / total_weight
        return _array(total), _array(total_weight)

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
            return self._gradient_of_some(
                grad_output, x, target, weight, reduction, ignore_index, total_weight
            )
        slope = -grad_output.item()
        result = _zeros(x.shape, x.dtype)
        result[numbers_below(len(target)), target] = slope / count if reduction == MEAN else slope
        return result

    def _gradient_of_some(
        self,
        grad_output: Any,
        x: Any,
        target: Any,
        weight: Any,
        reduction: int,
        ignore_index: int,
        total_weight: Any,
    ) -> Any:
        """Return the gradient where some samples are ignored or count more."""
        dtype = x.dtype
        of_samples = reduction == NONE and x.ndim == 2
        if (
            not is_plain(x, target)
            or grad_output.dtype is not dtype
            or grad_output.size != (target.size if of_samples else 1)
            or total_weight.size != 1
        ):
            return Likelihood.nll_loss_backward(
                self, grad_output, x, target, weight, reduction, ignore_index, total_weight
            )
        self._check(x, target, weight)
        places, classes = self._counted(target, x.shape[-1], ignore_index)
        slope = self._slope(grad_output, places, classes, weight, reduction, total_weight)
        result = _zeros(x.shape, dtype)
        (result if x.ndim == 2 else result.reshape(1, -1))[places, classes] = slope
        return result

    def _slope(
        self,
        grad_output: Any,
        places: Any,
        classes: Any,
        weight: Any,
        reduction: int,
        total_weight: Any,
    ) -> Any:
        """Return the gradients of the logarithms of samples that count."""
        slope = numpy.negative(grad_output.reshape(-1))
        if len(slope) > 1:
            slope = slope.take(places)
        elif reduction == MEAN:
            slope = slope / total_weight.reshape(())
        return slope if weight is None else slope * weight.take(classes)
