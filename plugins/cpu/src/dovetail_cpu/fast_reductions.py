"""Sums without NumPy's Python wrappers, and as matrix-vector products where BLAS is faster."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan, prod
from typing import Any

import numpy

from dovetail_aten.array_kernels import KernelTable, Precision, wrap_dims
from dovetail_aten.capabilities import Capabilities

_BLAS = frozenset(map(numpy.dtype, (numpy.float32, numpy.float64)))
_MANY = 1 << 14
"""Elements from which a product with ones pays."""
_LONGEST = 1 << 12
"""Longest sum left to BLAS, which does not add pairwise."""

Dims = int | Sequence[int] | None


def define(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    """Define the kernels of this family."""
    precision = Precision(capabilities)
    accumulators, halves = precision.accumulators, precision.halves
    generic_sum, generic_mean = kernel.kernels["sum"].fn, kernel.kernels["mean"].fn
    reduce: Any = numpy.add.reduce
    ones: dict[tuple[int, Any], Any] = {}

    def ones_of(length: int, dtype: Any) -> Any:
        found = ones.get((length, dtype))
        if found is None:
            if len(ones) >= 64:
                ones.clear()
            found = ones[length, dtype] = numpy.ones(length, dtype)
        return found

    def sum_of_matrix(self: Any, dims: tuple[int, ...], keepdim: bool) -> Any | None:
        """Return the sum over the last or first dimensions as a product with ones; None where that does not pay."""
        ndim, summed = self.ndim, len(dims)
        if summed == ndim or self.dtype not in _BLAS or not self.flags.c_contiguous:
            return None
        shape = self.shape
        if dims == tuple(range(ndim - summed, ndim)):
            kept, length = shape[: ndim - summed], prod(shape[ndim - summed :])
            if not 1 < length <= _LONGEST:
                return None
            result = self.reshape(-1, length).dot(ones_of(length, self.dtype))
        elif dims == tuple(range(summed)):
            kept, length = shape[summed:], prod(shape[:summed])
            if not 1 < length <= _LONGEST:
                return None
            result = ones_of(length, self.dtype).dot(self.reshape(length, -1))
        else:
            return None
        if keepdim:
            return result.reshape([1 if dim in dims else size for dim, size in enumerate(shape)])
        return result.reshape(kept)

    @kernel.named("sum", "sum.dim_IntList")
    def sum_(self: Any, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
        own = self.dtype
        if dtype is not None:
            return generic_sum(self, dim, keepdim, dtype=dtype)
        dims = None if dim is None else wrap_dims(dim, self.ndim)
        if own in accumulators:
            result = reduce(self, dims, accumulators[own], None, keepdim)
            return result.astype(own) if own in halves else result
        if dims is not None and self.size >= _MANY and (result := sum_of_matrix(self, dims, keepdim)) is not None:
            return result
        return reduce(self, dims, None, None, keepdim)

    @kernel.named("mean", "mean.dim")
    def mean(self: Any, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
        if dtype is not None or self.dtype in accumulators:
            return generic_mean(self, dim, keepdim, dtype=dtype)
        if dim is None:
            return reduce(self, None, None, None, keepdim) / (self.size or self.dtype.type(nan))
        dims = wrap_dims(dim, self.ndim)
        total = sum_(self, dims, keepdim)
        return total / (prod([self.shape[d] for d in dims]) or self.dtype.type(nan))

    # The ufunc methods skip a Python frame and the handling of keywords.
    logical_or: Any = numpy.logical_or.reduce
    logical_and: Any = numpy.logical_and.reduce

    def define_test(name: str, test: Any) -> None:
        @kernel.named(name, f"{name}.dim")
        def any_or_all(self: Any, dim: Dims = None, keepdim: bool = False) -> Any:
            result = test(self, None if dim is None else wrap_dims(dim, self.ndim), None, None, keepdim)
            return result.astype(numpy.uint8) if self.dtype == numpy.uint8 else result

    define_test("any", logical_or)
    define_test("all", logical_and)
