"""Sums without NumPy's Python wrappers, and as matrix-vector products where BLAS is faster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, nan, prod
from typing import Any

import numpy

from dovetail_aten.families.reductions.kernels.reductions import Dims, Reductions
from dovetail_aten.kernel_support import Function, wrap_dim, wrap_dims
from dovetail_aten.kernel_support.family import never_warns

from .constants import ones_of, starts_of_rows
from .extrema_of_rows import extrema_of_last
from .half_precision import MANY
from .products import dot
from .products_of_rows import product_of_rows
from .repeating import across, down
from .silence import silent
from .sums_along import TALL, sum_along, sum_along_middle

_SINGLE = numpy.dtype(numpy.float32)
_BOOL = numpy.dtype(bool)
_ORDERED = "biuf"
"""Kinds of dtypes whose extrema NumPy finds without a warning: not those of bfloat16."""
_BLAS = frozenset(map(numpy.dtype, (numpy.float32, numpy.float64)))
_MANY = 1 << 14
"""Elements from which a product with ones pays."""
_ROW, _LONG_ROW, _VERY_MANY = 128, 1024, 1 << 20
"""Length of the rows of a sum of everything, and from how many elements on it is the second."""
_FEW = 1 << 10
"""Elements up to which a plain sum costs less than finding a better one."""
_LONGEST = 1 << 12
"""Longest sum left to BLAS, which does not add pairwise."""
_AT_ONCE = 1 << 18
"""Elements of half precision that are in float32 at a time, if they are several rows."""
_MATRIX = 2
_CUBE = 3
"""Dimensions from which a reduction may be laid out by NumPy in another order than C order, which
is PyTorch's.
"""

_add: Any = numpy.add.reduce
_multiply: Any = numpy.multiply.reduce
_greatest: Any = numpy.maximum.reduce
_divide, _count_nonzero = numpy.divide, numpy.count_nonzero
_BOOLS: Any = (numpy.False_, numpy.True_)


def _tested(test: Any, is_met: Callable[[Any, int], bool], generic: Function) -> Function:
    """Return the method that reduces by `test`; of few bits, by ``is_met(ones, all)``."""

    def tested(self: Any, x: Any, dim: Dims = None, keepdim: bool = False) -> Any:
        if dim is None:
            if x.dtype is _BOOL and x.size <= _LONGEST and not keepdim:
                return _BOOLS[is_met(_count_nonzero(x), x.size)]
            result = test(x, None, None, None, keepdim)
        else:
            ndim = x.ndim
            result = test(x, wrap_dims(dim, ndim), None, None, keepdim)
            if ndim >= _CUBE and not result.flags.c_contiguous:
                result = result.copy()
        return result.astype(numpy.uint8) if x.dtype == numpy.uint8 else result

    tested.__doc__ = generic.__doc__
    return tested


def _in_single(family: Any, ufunc: Any, x: Any, dims: Any, keepdim: bool) -> Any | None:
    """Return what reduces many numbers of half precision by `ufunc`, in float32, some rows at a
    time; None for others.
    """
    if x.size < MANY or x.dtype not in family.precision.halves:
        return None
    if dims is None:
        dims = tuple(range(x.ndim))
        if x.flags.c_contiguous and not keepdim:
            x, dims = x.reshape(-1), (0,)
    elif dims.__class__ is int:
        dims = (dims,)
    step = max(1, _AT_ONCE * len(x) // x.size)
    wide, total, parts = family.precision.wide, None, []
    for start in range(0, len(x), step):
        rows = wide(x[start : start + step])
        part = family.sum(rows, dims, keepdim) if ufunc is numpy.add else None
        part = ufunc.reduce(rows, dims, None, None, keepdim) if part is None else part
        if 0 not in dims:
            parts.append(part)
        else:
            total = part if total is None else ufunc(total, part)
    made = numpy.concatenate(parts) if parts else numpy.asarray(total)
    return made if made.flags.c_contiguous else made.copy()


def _extremum_in_single(family: Any, reduce: Any, x: Any, dims: Any, keepdim: bool) -> Any | None:
    """Return the extrema of many numbers of half precision; None for others."""
    if x.dtype not in family.precision.halves:
        return None
    made = _silently_in_single(family, reduce.__self__, x, dims, keepdim)
    return None if made is None else made.astype(x.dtype)


_silently_in_single = silent(_in_single)


def _has_any(ones: Any, count: int) -> bool:
    return bool(ones > 0)


def _are_all(ones: Any, count: int) -> bool:
    return bool(ones == count)


def _whole(reduce: Any, generic: Function) -> Function:
    """Return the method that finds the extremum of all elements by `reduce`."""
    silently = silent(generic)

    def extremum(self: Any, x: Any) -> Any:
        if x.size >= MANY:
            made = _extremum_in_single(self, reduce, x, None, False)
            if made is not None:
                return made
        if not x.size or x.dtype.kind not in _ORDERED:
            return silently(self, x)
        return reduce(x, None)

    extremum.__doc__ = generic.__doc__
    return never_warns(extremum)


def _extremum(reduce: Any, find: Any, generic: Function) -> Function:
    """Return the method that finds extrema by `reduce`, those of many rows by their places."""
    silently = silent(generic)

    def extremum(self: Any, x: Any, dim: Dims = (), keepdim: bool = False) -> Any:
        ndim = x.ndim
        if x.size >= MANY:
            made = _extremum_in_single(self, reduce, x, wrap_dims(dim, ndim), keepdim)
            if made is not None:
                return made
        if not x.size or not ndim or x.dtype.kind not in _ORDERED:
            return silently(self, x, dim, keepdim)
        dims = wrap_dims(dim, ndim)
        if dims == (ndim - 1,) and (made := extrema_of_last(x, find, keepdim)) is not None:
            return made
        result = reduce(x, dims, None, None, keepdim)
        return result if ndim < _CUBE or result.flags.c_contiguous else result.copy()

    extremum.__doc__ = generic.__doc__
    return never_warns(extremum)


def _extremum_along(reduce: Any, find: Any, generic: Function) -> Function:
    """Return the method that finds extrema along a dimension, and by `find` their places: of few
    rows the extrema are what is at these places.
    """
    silently = silent(generic)

    def extremum_along(self: Any, x: Any, dim: int, keepdim: bool = False) -> tuple[Any, Any]:
        ndim = x.ndim
        if not x.size or not ndim or x.dtype.kind not in _ORDERED:
            general: tuple[Any, Any] = silently(self, x, dim, keepdim)
            return general
        axis = wrap_dim(dim, ndim)
        if ndim == _MATRIX and axis and len(x) <= _LONGEST:
            rows, columns = x.shape
            indices = find(x, 1)
            values = x.take(numpy.add(indices, starts_of_rows(rows, columns)))
            return (values[:, None], indices[:, None]) if keepdim else (values, indices)
        values = reduce(x, axis, None, None, keepdim)
        indices = find(x, axis, None, keepdims=keepdim)
        return (values, indices) if ndim < _CUBE else (self.ordered(values), self.ordered(indices))

    extremum_along.__doc__ = generic.__doc__
    return never_warns(extremum_along)


def _place(find: Any, generic: Function) -> Function:
    """Return the method that finds by `find` where extrema are."""

    def place(self: Any, x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
        ndim = x.ndim
        if dim is None or keepdim or not x.size or not 0 < ndim < _CUBE or x.dtype.kind == "c":
            return generic(self, x, dim, keepdim)
        return find(x, dim if 0 <= dim < ndim else wrap_dim(dim, ndim))

    place.__doc__ = generic.__doc__
    return never_warns(place)


def _small_variance(x: Any, axis: int, size: Any, freedom: Any) -> Any:
    """Return the variance along `axis` of a small matrix, whose sums are products with ones, and
    whose means are repeated, which costs less than broadcasting them.
    """
    rows, columns = x.shape
    ones = ones_of(columns if axis else rows, x.dtype)
    mean = x.dot(ones) if axis else ones.dot(x)
    _divide(mean, size, mean)
    away = numpy.subtract(x, across(mean, columns) if axis else down(mean, rows))
    numpy.multiply(away, away, away)
    total = away.dot(ones) if axis else ones.dot(away)
    return _divide(total, freedom, total)


class FastReductions(Reductions):
    """Reductions by the methods of ufuncs, which skip a Python frame and keywords."""

    any = _tested(numpy.logical_or.reduce, _has_any, Reductions.any)
    all = _tested(numpy.logical_and.reduce, _are_all, Reductions.all)
    max = _whole(numpy.maximum.reduce, Reductions.max)
    min = _whole(numpy.minimum.reduce, Reductions.min)
    amax = _extremum(numpy.maximum.reduce, numpy.ndarray.argmax, Reductions.amax)
    amin = _extremum(numpy.minimum.reduce, numpy.ndarray.argmin, Reductions.amin)
    max_along = _extremum_along(numpy.maximum.reduce, numpy.ndarray.argmax, Reductions.max_along)
    min_along = _extremum_along(numpy.minimum.reduce, numpy.ndarray.argmin, Reductions.min_along)
    argmax = _place(numpy.ndarray.argmax, Reductions.argmax)
    argmin = _place(numpy.ndarray.argmin, Reductions.argmin)

    def _sum_of_rows(self, x: Any) -> Any | None:
        """Return the sum of everything, in rows by BLAS and then pairwise; None where that does not
        pay.
        """
        if x.dtype not in _BLAS or not x.flags.c_contiguous:
            return None
        flat = x.reshape(-1)
        row = _ROW if flat.size < _VERY_MANY else _LONG_ROW
        whole = flat.size - flat.size % row
        total = _add(dot(flat[:whole].reshape(-1, row), ones_of(row, x.dtype)))
        return total if whole == flat.size else total + _add(flat[whole:])

    def sum(self, x: Any, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
        """Return the sum over `dim`; of few floats, and of many, as a product with ones."""
        own = x.dtype
        if dtype is not None and (dtype is not own or own not in _BLAS):
            if own is not _BOOL or dtype not in _BLAS or x.size > _LONGEST:
                return Reductions.sum(self, x, dim, keepdim, dtype=dtype)
            x = x.astype(dtype)  # so that BLAS counts them
            own = x.dtype
        if own in self.precision.accumulators:
            ndim = x.ndim
            dims = None if dim is None else wrap_dims(dim, ndim)
            made = _in_single(self, numpy.add, x, dims, keepdim)
            if made is not None:
                return made.astype(own)
            result = _add(
                x,
                dims,
                self.precision.accumulators[own],
                None,
                keepdim,
            )
            if ndim >= _CUBE and not result.flags.c_contiguous:
                result = result.copy()
            return result.astype(own) if own in self.precision.halves else result
        if dim is None:
            size = x.size
            if size <= _LONGEST and not keepdim and (own is _SINGLE or own in _BLAS):
                return x.ravel().dot(ones_of(size, own))
            if size >= _MANY and not keepdim and (result := self._sum_of_rows(x)) is not None:
                return result
            return _add(x, None, None, None, keepdim)
        ndim = x.ndim
        dims = wrap_dims(dim, ndim)
        if len(dims) == ndim and x.size <= _LONGEST and own in _BLAS:
            if not keepdim:
                return x.ravel().dot(ones_of(x.size, own))
            return x.reshape(1, -1).dot(ones_of(x.size, own)).reshape((1,) * ndim)
        if ndim == 2 and len(dims) == 1 and x.size <= _LONGEST and own in _BLAS:
            rows, columns = x.shape
            if dims[0]:
                result = x.dot(ones_of(columns, own))
                return result.reshape(rows, 1) if keepdim else result
            result = ones_of(rows, own).dot(x)
            return result.reshape(1, columns) if keepdim else result
        if x.size >= _MANY or (x.size > _LONGEST and x.shape[dims[0]] > TALL):
            result = sum_along(x, dims, keepdim)
            if result is not None:
                return result
        result = _add(x, dims, None, None, keepdim)
        return result if ndim < _CUBE or result.flags.c_contiguous else result.copy()

    def sum_to(self, x: Any, shape: Sequence[int]) -> Any:
        """Return the sum over the rows of a matrix, which a gradient of a bias needs, as a product
        with ones.
        """
        if x.ndim == 2 and x.shape[1:] == shape and x.dtype in _BLAS:
            if len(x) <= TALL or x.size <= _LONGEST:
                return ones_of(len(x), x.dtype).dot(x)
            if x.flags.c_contiguous:
                return sum_along_middle(x[None])[0]
        return Reductions.sum_to(self, x, shape)

    def count_nonzero(self, x: Any, dim: Dims = None) -> Any:
        """Return how many elements over `dim` are not zero, of all of them as bits."""
        if dim is None:
            return numpy.int64(numpy.count_nonzero(x if x.dtype == bool else x != 0))
        return Reductions.count_nonzero(self, x, dim)

    def mean(self, x: Any, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
        """Return the mean over `dim`, with the number of elements as a Python number."""
        if dtype is None and x.dtype in self.precision.halves:
            dims = None if dim is None else wrap_dims(dim, x.ndim)
            total = _in_single(self, numpy.add, x, dims, keepdim)
            if total is not None:
                return numpy.divide(total, x.size / total.size).astype(x.dtype)
        if dtype is not None or x.dtype in self.precision.accumulators:
            return Reductions.mean(self, x, dim, keepdim, dtype=dtype)
        if dim is None:
            return self.sum(x, None, keepdim) / (x.size or x.dtype.type(nan))
        shape, dims = x.shape, wrap_dims(dim, x.ndim)
        size = shape[dims[0]] if len(dims) == 1 else prod([shape[d] for d in dims])
        return _divide(self.sum(x, dims, keepdim), self.numbers.of_dtype(size or nan, x.dtype))

    def var(
        self, x: Any, dim: Dims = None, *, correction: Any = None, keepdim: bool = False
    ) -> Any:
        """Return the variance over `dim`, with the squares written over the differences."""
        result = self._plain_variance(x, dim, correction, keepdim)
        if result is None:
            return Reductions.var(self, x, dim, correction=correction, keepdim=keepdim)
        return result

    def _plain_variance(self, x: Any, dim: Dims, correction: Any, keepdim: bool) -> Any:
        """Return the variance in the dtype of `x`; None of no elements, where it has no degree of
        freedom, and in other dtypes than those of BLAS.
        """
        if x.dtype not in _BLAS or not x.size:
            return None
        shape, dims = x.shape, wrap_dims(dim, x.ndim)
        size = shape[dims[0]] if len(dims) == 1 else prod([shape[d] for d in dims])
        freedom = size - (1 if correction is None else correction)
        if freedom <= 0:
            return None
        if len(dims) == len(shape) and size <= _LONGEST:
            away = x.ravel()
            away = numpy.subtract(away, away.dot(ones_of(size, x.dtype)) / size)
            result = away.dot(away) / freedom
            return result.reshape((1,) * x.ndim) if keepdim else result
        number = self.numbers.of_dtype
        if len(shape) == _MATRIX and len(dims) == 1 and x.size <= _FEW:
            result = _small_variance(x, dims[0], number(size, x.dtype), number(freedom, x.dtype))
            return numpy.expand_dims(result, dims[0]) if keepdim else result
        mean = _divide(self.sum(x, dims, True), number(size, x.dtype))
        away = numpy.subtract(x, mean)
        squares = numpy.multiply(away, away, away if away.ndim else None)
        return _divide(self.sum(squares, dims, keepdim), number(freedom, x.dtype))

    def std(
        self, x: Any, dim: Dims = None, *, correction: Any = None, keepdim: bool = False
    ) -> Any:
        """Return the standard deviation over `dim`, the root of `var`."""
        result = self._plain_variance(x, dim, correction, keepdim)
        if result is not None:
            result = numpy.sqrt(result)
            if _greatest(result, None, None, None, False, 0) < inf:
                return result
        # Squares that are infinite, of numbers that may not be.
        return Reductions.std(self, x, dim, correction=correction, keepdim=keepdim)

    def prod(
        self, x: Any, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None
    ) -> Any:
        """Return the product over `dim`."""
        own = x.dtype
        if dtype is None and own in self.precision.halves:
            dims = None if dim is None else wrap_dims(dim, x.ndim)
            made = _in_single(self, numpy.multiply, x, dims, keepdim)
            if made is not None:
                return made.astype(own)
        if dtype is not None or own in self.precision.halves:
            return Reductions.prod(self, x, dim, keepdim, dtype=dtype)
        ndim = x.ndim
        if x.size >= _MANY and own in _BLAS and x.flags.c_contiguous:
            axis = None if dim is None else wrap_dim(dim, ndim)
            if axis is None or axis == ndim - 1:
                return product_of_rows(x, axis, keepdim)
        result = _multiply(
            x,
            None if dim is None else wrap_dims(dim, ndim),
            self.precision.accumulators.get(own),
            None,
            keepdim,
        )
        return result if ndim < _CUBE or result.flags.c_contiguous else result.copy()
