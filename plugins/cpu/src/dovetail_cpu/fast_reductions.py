"""Sums without NumPy's Python wrappers, and as matrix-vector products where BLAS is faster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import nan, prod
from typing import Any

import numpy

from dovetail_aten.array_kernels import KernelTable, Precision, wrap_dim, wrap_dims
from dovetail_aten.array_kernels.capabilities import Capabilities

from .constants import ones_of

_SINGLE = numpy.dtype(numpy.float32)
_BLAS = frozenset(map(numpy.dtype, (numpy.float32, numpy.float64)))
_MANY = 1 << 14
"""Elements from which a product with ones pays."""
_ROW = 128
"""Length of the rows that a sum of everything is made of."""
_STEP = 20
"""Length of the pieces that a cumulative sum is made of."""
_LONGEST = 1 << 12
"""Longest sum left to BLAS, which does not add pairwise."""

_CUBE = 3
"""Dimensions from which a reduction may be laid out by NumPy in another order than C order, which
is PyTorch's.
"""

Dims = int | Sequence[int] | None


def define(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    """Define the kernels of this family."""
    precision = Precision(capabilities)
    accumulators, halves = precision.accumulators, precision.halves
    generic_sum, generic_mean = kernel.kernels["sum"].fn, kernel.kernels["mean"].fn
    generic_var = kernel.kernels["var.correction"].fn
    reduce: Any = numpy.add.reduce

    def sum_of_matrix(self: Any, dims: tuple[int, ...], keepdim: bool) -> Any | None:
        """Return the sum over the last or first dimensions as a product with ones; None where that
        does not pay.
        """
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

    def sum_of_rows(self: Any) -> Any | None:
        """Return the sum of everything, in rows by BLAS and then pairwise; None where that does not
        pay.
        """
        if self.dtype not in _BLAS or not self.flags.c_contiguous:
            return None
        flat = self.reshape(-1)
        whole = flat.size - flat.size % _ROW
        total = reduce(flat[:whole].reshape(-1, _ROW).dot(ones_of(_ROW, self.dtype)))
        return total if whole == flat.size else total + reduce(flat[whole:])

    @kernel.named("sum", "sum.dim_IntList")
    def sum_(self: Any, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
        own = self.dtype
        if dtype is not None:
            return generic_sum(self, dim, keepdim, dtype=dtype)
        if own in accumulators:
            ndim = self.ndim
            result = reduce(
                self,
                None if dim is None else wrap_dims(dim, ndim),
                accumulators[own],
                None,
                keepdim,
            )
            if ndim >= _CUBE and not result.flags.c_contiguous:
                result = result.copy()
            return result.astype(own) if own in halves else result
        if dim is None:
            size = self.size
            if size <= _LONGEST and not keepdim and (own is _SINGLE or own in _BLAS):
                return self.ravel().dot(ones_of(size, own))
            if size >= _MANY and not keepdim and (result := sum_of_rows(self)) is not None:
                return result
            return reduce(self, None, None, None, keepdim)
        ndim = self.ndim
        dims = wrap_dims(dim, ndim)
        if ndim == 2 and len(dims) == 1 and not keepdim and self.size <= _LONGEST and own in _BLAS:
            rows, columns = self.shape
            return self.dot(ones_of(columns, own)) if dims[0] else ones_of(rows, own).dot(self)
        if self.size >= _MANY and (result := sum_of_matrix(self, dims, keepdim)) is not None:
            return result
        result = reduce(self, dims, None, None, keepdim)
        return result if ndim < _CUBE or result.flags.c_contiguous else result.copy()

    generic_sum_to = kernel.helpers["sum_to"]

    @kernel.helper("sum_to")
    def sum_to(self: Any, shape: Sequence[int]) -> Any:
        # What a gradient of a bias needs.
        if (
            self.ndim == 2
            and self.shape[1:] == shape
            and self.dtype in _BLAS
            and len(self) <= _LONGEST
        ):
            return ones_of(len(self), self.dtype).dot(self)
        return generic_sum_to(self, shape)

    @kernel.named("mean", "mean.dim")
    def mean(self: Any, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
        if dtype is not None or self.dtype in accumulators:
            return generic_mean(self, dim, keepdim, dtype=dtype)
        if dim is None:
            return sum_(self, None, keepdim) / (self.size or self.dtype.type(nan))
        dims = wrap_dims(dim, self.ndim)
        total = sum_(self, dims, keepdim)
        return total / (prod([self.shape[d] for d in dims]) or self.dtype.type(nan))

    @kernel.named("var.correction")
    def var(self: Any, dim: Dims = None, *, correction: Any = None, keepdim: bool = False) -> Any:
        if self.dtype not in _BLAS or not self.size:
            return generic_var(self, dim, correction=correction, keepdim=keepdim)
        dims = wrap_dims(dim, self.ndim)
        size = prod([self.shape[d] for d in dims])
        freedom = size - (1 if correction is None else correction)
        if freedom <= 0:
            return generic_var(self, dim, correction=correction, keepdim=keepdim)
        away = numpy.subtract(self, sum_(self, dims, True) / size)
        return (
            sum_(numpy.multiply(away, away, out=away if away.ndim else None), dims, keepdim)
            / freedom
        )

    @kernel.named("std.correction")
    def std(self: Any, dim: Dims = None, *, correction: Any = None, keepdim: bool = False) -> Any:
        return numpy.sqrt(var(self, dim, correction=correction, keepdim=keepdim))

    _define_tests(kernel)
    _define_extrema(kernel, capabilities.contiguous)
    _define_products(kernel, precision)
    _define_scan(kernel, precision, capabilities.contiguous)


def _define_tests(kernel: KernelTable) -> None:
    # The methods of ufuncs skip a Python frame and the handling of keywords.
    logical_or: Any = numpy.logical_or.reduce
    logical_and: Any = numpy.logical_and.reduce

    def define_test(name: str, test: Any) -> None:
        @kernel.named(name, f"{name}.dim")
        def any_or_all(self: Any, dim: Dims = None, keepdim: bool = False) -> Any:
            if dim is None:
                result = test(self, None, None, None, keepdim)
            else:
                ndim = self.ndim
                result = test(self, wrap_dims(dim, ndim), None, None, keepdim)
                if ndim >= _CUBE and not result.flags.c_contiguous:
                    result = result.copy()
            return result.astype(numpy.uint8) if self.dtype == numpy.uint8 else result

    define_test("any", logical_or)
    define_test("all", logical_and)


def _define_extrema(kernel: KernelTable, contiguous: Callable[[Any], Any]) -> None:
    def define_extremum(name: str, reduce: Any, arg: Any) -> None:
        generic = kernel.kernels[f"a{name}"].fn
        generic_along: Callable[..., tuple[Any, Any]] = kernel.kernels[f"{name}.dim"].fn

        @kernel.named(f"a{name}")
        def aextremum(self: Any, dim: Dims = (), keepdim: bool = False) -> Any:
            ndim = self.ndim
            if not self.size or not ndim or self.dtype.kind == "c":
                return generic(self, dim, keepdim)
            result = reduce(self, wrap_dims(dim, ndim), None, None, keepdim)
            return result if ndim < _CUBE or result.flags.c_contiguous else result.copy()

        @kernel.named(f"{name}.dim", f"{name}.dim_{name}")
        def extremum_along(self: Any, dim: int, keepdim: bool = False) -> tuple[Any, Any]:
            ndim = self.ndim
            if not self.size or not ndim or self.dtype.kind == "c":
                return generic_along(self, dim, keepdim)
            axis = wrap_dim(dim, ndim)
            values, indices = (
                reduce(self, axis, None, None, keepdim),
                arg(self, axis, None, keepdims=keepdim),
            )
            return (values, indices) if ndim < _CUBE else (contiguous(values), contiguous(indices))

    define_extremum("max", numpy.maximum.reduce, numpy.ndarray.argmax)
    define_extremum("min", numpy.minimum.reduce, numpy.ndarray.argmin)


def _define_products(kernel: KernelTable, precision: Precision) -> None:
    generic = kernel.kernels["prod"].fn
    accumulators, halves = precision.accumulators, precision.halves
    reduce: Any = numpy.multiply.reduce

    @kernel.named("prod", "prod.dim_int")
    def prod_(
        self: Any, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None
    ) -> Any:
        own = self.dtype
        if dtype is not None or own in halves:
            return generic(self, dim, keepdim, dtype=dtype)
        ndim = self.ndim
        result = reduce(
            self,
            None if dim is None else wrap_dims(dim, ndim),
            accumulators.get(own),
            None,
            keepdim,
        )
        return result if ndim < _CUBE or result.flags.c_contiguous else result.copy()


def _define_scan(
    kernel: KernelTable, precision: Precision, contiguous: Callable[[Any], Any]
) -> None:
    generic = kernel.kernels["cumsum"].fn
    accumulators, halves = precision.accumulators, precision.halves
    accumulate: Any = numpy.add.accumulate
    triangle = numpy.tri(_STEP, dtype=numpy.float32).T.copy()
    triangles = {each.dtype: each for each in (triangle, triangle.astype(numpy.float64))}

    @kernel.named("cumsum")
    def cumsum(self: Any, dim: int, *, dtype: Any = None) -> Any:
        ndim, own = self.ndim, self.dtype
        axis = wrap_dim(dim, ndim)
        if dtype is not None or own in halves or not ndim:
            return generic(self, dim, dtype=dtype)
        if (
            self.size < _MANY
            or own not in _BLAS
            or axis != ndim - 1
            or self.shape[-1] % _STEP
            or not self.flags.c_contiguous
        ):
            result = accumulate(self, axis, accumulators.get(own))
            return result if ndim == 1 else contiguous(result)
        # Sums within short steps as a product with a triangle of ones, then what came before each
        # step.
        steps = (
            self.reshape(-1, _STEP)
            .dot(triangles[self.dtype])
            .reshape(-1, self.shape[-1] // _STEP, _STEP)
        )
        before = numpy.cumsum(steps[:, :-1, -1], 1)
        numpy.add(steps[:, 1:], before[:, :, None], out=steps[:, 1:])
        if not numpy.isfinite(steps[:, -1, -1]).all():
            # Zeros of the triangle make NaN of infinities, also before them.
            return generic(self, dim)
        return steps.reshape(self.shape)
