"""Losses with margins between classes, and the distances between all rows, by the few functions of
NumPy that they take: elsewhere they are composites.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Final

import numpy
import numpy as np

from dovetail_aten.kernel_support import (
    MEAN,
    NONE,
    Family,
    check_classes,
    check_labels,
    check_pdist,
    operator,
    out_of_range,
)

_UNSIGNED: Final = numpy.dtype(numpy.uint64)
_FEW: Final = 64
"""Rows up to which all pairs are made at once."""
_PART: Final = 1 << 15
"""Elements of the differences that are made at once, of more rows."""
_add: Any = numpy.add.reduce
_highest: Any = numpy.maximum.reduce


def _reduced(loss: np.ndarray, reduction: int) -> Any:
    """Return the mean of the losses of samples, or their sum."""
    total = _add(loss)
    return total / loss.dtype.type(len(loss)) if reduction == MEAN else total


class WholeLosses(Family):
    """Losses with margins, and distances."""

    @operator("multi_margin_loss")
    def multi_margin_loss(
        self,
        x: np.ndarray,
        target: np.ndarray,
        p: object = 1,
        margin: object = 1,
        weight: np.ndarray | None = None,
        reduction: int = MEAN,
    ) -> Any:
        """Return the mean over the other classes of ``max(0, margin - x[target] + x) ** p``,
        weighted by the target's class.
        """
        kinds = self.dtypes[x.dtype], self.dtypes[target.dtype]
        of_weight = None if weight is None else self.dtypes[weight.dtype]
        samples, count = check_classes(x, target, weight, p, *kinds, of_weight)
        classes = target.reshape(-1)
        # Read as unsigned, a negative class is beyond the last one too.
        if samples and not _highest(classes.view(_UNSIGNED)) < count:
            raise out_of_range(count)
        rows, places = x.reshape(samples, count), numpy.arange(samples)
        away = x.dtype.type(margin) - rows[places, classes]
        short = rows + away[:, None]
        short[places, classes] = 0
        numpy.fmax(short, 0, out=short)
        if p == 2:
            short *= short
        loss = _add(short, 1)
        if weight is not None:
            loss *= weight[classes]
        loss /= x.dtype.type(count)
        return loss.reshape(target.shape) if reduction == NONE else _reduced(loss, reduction)

    @operator("multilabel_margin_loss")
    def multilabel_margin_loss(
        self, x: np.ndarray, target: np.ndarray, reduction: int = MEAN
    ) -> Any:
        """Return ``max(0, 1 - x[label] + x[other])`` summed over the labels of a sample and the
        classes that are none, divided by the number of classes.
        """
        samples, count = check_labels(x, target, self.dtypes[x.dtype], self.dtypes[target.dtype])
        rows, labels = x.reshape(samples, count), target.reshape(samples, count)
        # They end at the first -1.
        counted = numpy.logical_and.accumulate(labels != -1, 1).reshape(-1).nonzero()[0]
        classes = labels.reshape(-1)[counted]
        if len(counted) and not _highest(classes.view(_UNSIGNED)) < count:
            raise out_of_range(count)
        places = counted // count
        is_label = numpy.zeros((samples, count), bool)
        is_label[places, classes] = True
        # Labels are no other classes: their scores are behind any margin.
        others = numpy.where(is_label, x.dtype.type(-math.inf), rows)
        short = others.take(places, 0)
        short += (x.dtype.type(1) - rows[places, classes])[:, None]
        numpy.fmax(short, 0, out=short)
        loss = numpy.bincount(places, _add(short, 1), samples)
        loss = (loss / count).astype(x.dtype)
        return loss.reshape(x.shape[:-1]) if reduction == NONE else _reduced(loss, reduction)

    @operator("pdist")
    def pdist(self, x: np.ndarray, p: float = 2.0) -> Any:
        """Return the distances between every two rows, in the order of the upper triangle."""
        check_pdist(x, p, self.dtypes[x.dtype])
        count, length = x.shape
        pairs = count * (count - 1) // 2
        if not pairs or not length:
            return numpy.zeros(pairs, x.dtype)
        if count <= _FEW or pairs * length <= _PART:
            left, right = _pairs(count)
            away = x.take(left, 0)
            away -= x.take(right, 0)
            return _lengths(away, p)
        made, begin = numpy.empty(pairs, x.dtype), 0
        for row in range(count - 1):
            end = begin + count - 1 - row
            made[begin:end] = _lengths(x[row] - x[row + 1 :], p)
            begin = end
        return made


@lru_cache(64)
def _pairs(count: int) -> tuple[Any, Any]:
    """Return the rows and the columns of the upper triangle of a square."""
    return numpy.triu_indices(count, 1)


def _lengths(away: np.ndarray, p: float) -> Any:
    """Return the `p`-norms of vectors, which are written to."""
    if p == 2:
        return numpy.sqrt(numpy.vecdot(away, away))
    if p == 0:
        numpy.sign(away, away)
    numpy.absolute(away, away)
    if p in (0, 1):
        return _add(away, 1)
    if math.isinf(p):
        return numpy.maximum.reduce(away, 1)
    if away.shape[1] == 1:
        return away[:, 0]
    exponent, inverse = [away.dtype.type(each) for each in (p, 1 / p)]
    return numpy.power(_add(numpy.power(away, exponent, away), 1), inverse)
