"""Averages over windows of images, and over a given number of them, with their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_kernel.typing import NativeDtype

from ....kernel_support.family import Family, operator, widened
from ....typing import Array
from .pooling_geometry import averaged_windows, check_adaptive, check_pooled
from .segments import Divisors, Runs, adaptive_runs

_ALL = slice(None)


class AveragePooling(Family):
    """Averages, computed along one dimension after the other.

    The gradient of a sum over runs of elements is a sum over runs of runs, so nothing is scattered.
    """

    @operator("avg_pool2d")
    @widened
    def avg_pool2d(self, x: Array, *how: Any) -> Any:
        """Return the average of each window over the last two dimensions."""
        return self._averages(x, *averaged_windows("avg_pool2d", 2, x.shape, *how))

    @operator("avg_pool3d")
    @widened
    def avg_pool3d(self, x: Array, *how: Any) -> Any:
        """Return the average of each window over the last three dimensions."""
        return self._averages(x, *averaged_windows("avg_pool3d", 3, x.shape, *how))

    @operator("avg_pool2d_backward")
    @widened
    def avg_pool2d_backward(self, grad_output: Array, x: Array, *how: Any) -> Any:
        """Return the gradient of avg_pool2d."""
        name = "avg_pool2d_backward"
        return self._gradient(name, grad_output, x, *averaged_windows(name, 2, x.shape, *how))

    @operator("avg_pool3d_backward")
    @widened
    def avg_pool3d_backward(self, grad_output: Array, x: Array, *how: Any) -> Any:
        """Return the gradient of avg_pool3d."""
        name = "avg_pool3d_backward"
        return self._gradient(name, grad_output, x, *averaged_windows(name, 3, x.shape, *how))

    @operator("_adaptive_avg_pool2d")
    @widened
    def adaptive_avg_pool2d(self, x: Array, output_size: Sequence[int]) -> Any:
        """Return the averages of ``output_size`` nearly equal windows."""
        return self._adaptive("adaptive_avg_pool2d", 2, x, output_size)

    @operator("_adaptive_avg_pool3d")
    @widened
    def adaptive_avg_pool3d(self, x: Array, output_size: Sequence[int]) -> Any:
        """Return the averages of ``output_size`` nearly equal windows."""
        return self._adaptive("adaptive_avg_pool3d", 3, x, output_size)

    @operator("_adaptive_avg_pool2d_backward")
    @widened
    def adaptive_avg_pool2d_backward(self, grad_output: Array, x: Array) -> Any:
        """Return the gradient of _adaptive_avg_pool2d."""
        return self._adaptive_gradient("adaptive_avg_pool2d_backward", 2, grad_output, x)

    @operator("_adaptive_avg_pool3d_backward")
    @widened
    def adaptive_avg_pool3d_backward(self, grad_output: Array, x: Array) -> Any:
        """Return the gradient of _adaptive_avg_pool3d."""
        return self._adaptive_gradient("adaptive_avg_pool3d_backward", 3, grad_output, x)

    def _adaptive(self, name: str, ndim: int, x: Array, output_size: Sequence[int]) -> Any:
        check_adaptive(name, ndim, x.shape, output_size)
        runs = [adaptive_runs(*pair) for pair in zip(x.shape[-ndim:], output_size, strict=True)]
        return self._averages(x, runs, [each.lengths for each in runs])

    def _adaptive_gradient(self, name: str, ndim: int, grad: Array, x: Array) -> Any:
        sizes = grad.shape[-ndim:]
        check_adaptive(name, ndim, x.shape, sizes)
        runs = [adaptive_runs(*pair) for pair in zip(x.shape[-ndim:], sizes, strict=True)]
        return self._gradient(name, grad, x, runs, [each.lengths for each in runs])

    def _averages(self, x: Array, runs: Sequence[Runs], divisors: Divisors) -> Any:
        """Return the sums over runs along the last dimensions, divided."""
        return self.ordered(self._divided(self._sums(x, runs), divisors))

    def _gradient(
        self, name: str, grad: Array, x: Array, runs: Sequence[Runs], divisors: Divisors
    ) -> Any:
        """Return the gradient of `_averages`."""
        lead = x.shape[: x.ndim - len(runs)]
        shape = (*lead, *[len(each.starts) for each in runs])
        check_pooled(name, grad.shape, shape, "the gradient")
        return self.ordered(
            self._sums(self._divided(grad, divisors), [each.transposed() for each in runs])
        )

    def _sums(self, x: Array, runs: Sequence[Runs]) -> Any:
        """Return the sums over runs along the last dimensions."""
        for dim, each in enumerate(reversed(runs)):
            x = self._sums_along(x, x.ndim - 1 - dim, each)
        return x

    def _sums_along(self, x: Array, axis: int, runs: Runs) -> Any:
        """Return the sum over each run along `axis`."""
        xp = self.xp
        total = None
        for places, counts in runs.elements():
            if isinstance(places, slice):
                part = x[(*(_ALL,) * axis, places)]
            else:
                part = xp.take(x, xp.asarray(places), axis=axis)
            if counts is not None:
                within = xp.reshape(xp.asarray(counts), (-1, *[1] * (x.ndim - 1 - axis)))
                part = xp.where(within, part, self.numbers.like(x, 0))
            total = part if total is None else xp.add(total, part)
        if total is None:
            shape = (*x.shape[:axis], len(runs.starts), *x.shape[axis + 1 :])
            return xp.zeros(shape, dtype=x.dtype)
        return total

    def _divided(self, sums: Array, divisors: Divisors) -> Any:
        """Return sums divided by a number, or by the product of one for each place along each of
        the last dimensions. Integers lose their fraction, as in C.
        """
        xp = self.xp
        if isinstance(divisors, int):
            divisor = self.numbers.like(sums, divisors)
        else:
            divisor = self._product_of(divisors, sums.dtype)
        if sums.dtype in self.precision.integral:
            whole = xp.floor_divide(xp.absolute(sums), xp.absolute(divisor))
            return xp.multiply(whole, xp.multiply(xp.sign(sums), xp.sign(divisor)))
        return xp.true_divide(sums, divisor)

    def _product_of(self, divisors: Sequence[Sequence[int]], dtype: NativeDtype) -> Any:
        """Return one number for each place of the last dimensions, or one for all of them."""
        product = 1
        for place, numbers in enumerate(divisors):
            behind = len(divisors) - 1 - place
            if len(set(numbers)) == 1:
                numbers = numbers[:1]
            row = self.xp.reshape(self.xp.asarray(numbers, dtype=dtype), (-1, *[1] * behind))
            product = row if place == 0 else self.xp.multiply(product, row)
        return product
