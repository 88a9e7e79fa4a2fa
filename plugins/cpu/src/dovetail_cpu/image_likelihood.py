"""The negative log likelihood of the classes of all places of images, without a copy of these."""

from __future__ import annotations

from typing import Any

import numpy

from dovetail_aten.families.losses.kernels.likelihood import (
    Likelihood,
    check_images,
    check_total_weight,
)
from dovetail_aten.kernel_support.family import operator
from dovetail_aten.kernel_support.loss_reductions import NONE

from .fast_likelihood import FastLikelihood, is_plain


def _lines(x: Any) -> Any:
    """Return images (N, C, H, W) as lines of classes, one for each place."""
    return x.transpose(0, 2, 3, 1).reshape(-1, x.shape[1])


def _places_in(shape: tuple[int, ...], places: Any, classes: Any) -> Any:
    """Return where the classes of some places of images lie in these."""
    _, count, height, width = shape
    size = height * width
    return places + (places // size * (count - 1) + classes) * size


class ImageLikelihood(FastLikelihood):
    """Losses of the classes of images."""

    @operator("nll_loss2d_forward")
    def nll_loss2d_forward(
        self, x: Any, target: Any, weight: Any, reduction: int, ignore_index: int
    ) -> tuple[Any, Any]:
        """Return the loss of the classes of all places of images, and the weight."""
        check_images(x, target)
        if is_plain(x, target):
            count = x.shape[1]
            self._check_weight(x, weight, count)
            places, classes = self._counted(target, count, ignore_index)
            chosen = x.reshape(-1).take(_places_in(x.shape, places, classes))
            samples = target.size if reduction == NONE else None
            loss, total = self._weighed(chosen, places, classes, weight, reduction, samples)
        else:
            loss, total = Likelihood.nll_loss_forward(
                self, _lines(x), target.reshape(-1), weight, reduction, ignore_index
            )
        return (loss.reshape(target.shape) if reduction == NONE else loss), total

    @operator("nll_loss2d_backward")
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
        """Return the gradient of the loss of the classes of all places of images."""
        check_images(x, target)
        check_total_weight(total_weight)
        batch, count, height, width = x.shape
        size = target.size if reduction == NONE else 1
        fits = grad_output.dtype is x.dtype and grad_output.size == size
        if not (is_plain(x, target) and fits):
            grad = grad_output.reshape(-1) if reduction == NONE else grad_output
            made = Likelihood.nll_loss_backward(
                self,
                grad,
                _lines(x),
                target.reshape(-1),
                weight,
                reduction,
                ignore_index,
                total_weight,
            )
            turned = made.reshape(batch, height, width, count).transpose(0, 3, 1, 2)
            return numpy.ascontiguousarray(turned)
        self._check_weight(x, weight, count)
        places, classes = self._counted(target, count, ignore_index)
        slope = self._slope(grad_output, places, classes, weight, reduction, total_weight)
        result = numpy.zeros(x.shape, x.dtype)
        result.reshape(-1)[_places_in(x.shape, places, classes)] = slope
        return result
