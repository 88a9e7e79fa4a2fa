"""Maxima over windows that begin at places which random numbers choose."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

from dovetail_kernel import int64

from ....kernel_support.family import operator
from ....typing import Array
from .maxima import Maxima
from .pooling_geometry import check_fractional


class FractionalPooling(Maxima):
    """Fractional max pooling (Graham 2014, arXiv:1412.6071)."""

    @operator("fractional_max_pool2d")
    def fractional_max_pool2d(
        self,
        x: Array,
        kernel_size: Sequence[int],
        output_size: Sequence[int],
        random_samples: object,
    ) -> tuple[Any, Any]:
        """Return the maxima of ``output_size`` windows, and their places. The random numbers are of
        the last dimension first.
        """
        order = (1, 0)
        return self._fractional(
            "fractional_max_pool2d", order, x, kernel_size, output_size, random_samples
        )

    @operator("fractional_max_pool3d")
    def fractional_max_pool3d(
        self,
        x: Array,
        kernel_size: Sequence[int],
        output_size: Sequence[int],
        random_samples: Array,
    ) -> tuple[Any, Any]:
        """Return the maxima of ``output_size`` windows, and their places. The random numbers are of
        the first dimension first.
        """
        order = (0, 1, 2)
        return self._fractional(
            "fractional_max_pool3d", order, x, kernel_size, output_size, random_samples
        )

    def _fractional(
        self,
        name: str,
        order: Sequence[int],
        x: Array,
        kernel_size: Sequence[int],
        output_size: Sequence[int],
        samples: Any,
    ) -> tuple[Any, Any]:
        ndim = len(order)
        kernel = check_fractional(name, ndim, x, kernel_size, output_size, samples)
        shape = (*x.shape[:-ndim], *output_size)
        sizes, lead = x.shape[-ndim:], (math.prod(x.shape[: -ndim - 1]), x.shape[-ndim - 1])
        flat = self.xp.reshape(x, (*lead, math.prod(sizes)))
        samples = samples[: lead[0]]
        corner: Any = 0
        for dim in range(ndim):
            starts = self._starts(
                samples[:, :, order[dim]], sizes[dim], output_size[dim], kernel[dim]
            )
            step = math.prod(sizes[dim + 1 :])
            starts = self.xp.multiply(
                starts, self.numbers.of_dtype(step, self.native_dtypes[int64])
            )
            spread = self.xp.reshape(
                starts, (*lead, *[1] * dim, output_size[dim], *[1] * (ndim - 1 - dim))
            )
            corner = spread if dim == 0 else self.xp.add(corner, spread)
        corner = self.xp.reshape(corner, (*lead, math.prod(output_size)))
        best: Any = None
        where: Any = None
        for offsets in product(*[range(n) for n in kernel]):
            away = sum(n * math.prod(sizes[dim + 1 :]) for dim, n in enumerate(offsets))
            place = self.xp.add(corner, self.numbers.like(corner, away))
            value = self.xp.take_along_axis(flat, place, axis=2)
            best, where = self._larger(best, where, value, place)
        return self.xp.reshape(best, shape), self.xp.reshape(where, shape)

    def _starts(self, samples: Array, size: int, number: int, kernel: int) -> Any:
        """Return where the windows along one dimension begin, for every channel: in steps whose
        length is a fraction, the last at the end.
        """
        xp, like = self.xp, self.numbers.like
        last = size - kernel
        length = like(samples, 0)
        if number > 1:
            length = xp.true_divide(like(samples, last), like(samples, number - 1))
        steps = xp.arange(number).astype(samples.dtype)
        first = xp.expand_dims(samples, axis=-1)
        away = xp.trunc(xp.multiply(xp.add(steps, first), length))
        starts = xp.subtract(
            away.astype(xp.int64), xp.trunc(xp.multiply(first, length)).astype(xp.int64)
        )
        within = xp.maximum(xp.minimum(starts, like(starts, last)), like(starts, 0))
        return xp.where(xp.equal(xp.arange(number), number - 1), like(starts, last), within)
