"""Reductions: sums, products, means, extrema, tests and variances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail_kernel import warn_user
from dovetail_kernel.types import COMPLEX, FLOAT
from dovetail_kernel.typing import NativeDtype

from ....kernel_support.checks.range_checks import double_of
from ....kernel_support.dims import wrap_dim, wrap_dims
from ....kernel_support.family import Family, helper, operator
from ....kernel_support.table import Function
from ....typing import Array, Scalar

Dims = int | Sequence[int] | None


def count(shape: Sequence[int], dims: Sequence[int]) -> int:
    """Return how many elements a reduction over `dims` combines."""
    return math.prod([shape[dim] for dim in dims])


class Reductions(Family):
    """Sums, products, means, extrema, tests and variances."""

    @operator("sum", "sum.dim_IntList")
    def sum(
        self, x: Array, dim: Dims = None, keepdim: bool = False, *, dtype: NativeDtype | None = None
    ) -> Any:
        """Return the sum over `dim`, in int64 for integers; half precision is accumulated in
        float32.
        """
        xp, precision = self.xp, self.precision
        accumulators = precision.accumulators
        own = x.dtype
        dims = None if dim is None else wrap_dims(dim, x.ndim)
        if dtype is not None:
            wide = accumulators.get(dtype, dtype)
            result = xp.sum(precision.converted(x, dtype), axis=dims, dtype=wide, keepdims=keepdim)
            return self.ordered(result.astype(dtype))
        if own not in accumulators:
            return self.ordered(xp.sum(x, axis=dims, keepdims=keepdim))
        result = self.ordered(xp.sum(x, axis=dims, dtype=accumulators[own], keepdims=keepdim))
        return result.astype(own) if own in self.precision.halves else result

    def _check_mean(self, own: Any, dtype: NativeDtype | None) -> None:
        """Raise an error for a mean of integers."""
        kind = self.dtypes[own if dtype is None else dtype]
        if kind.category < FLOAT:
            which = "Input" if dtype is None else "Optional"
            raise RuntimeError(
                f"mean(): could not infer output dtype. {which} dtype must be either a floating "
                "point or complex dtype. "
                f"Got: {kind.scalar_name}. Give dtype=, or convert the tensor."
            )

    @operator("mean", "mean.dim")
    def mean(
        self, x: Array, dim: Dims = None, keepdim: bool = False, *, dtype: NativeDtype | None = None
    ) -> Any:
        """Return the mean over `dim`: the sum divided by the number of elements, or NaN without
        elements.
        """
        self._check_mean(x.dtype, dtype)
        own = x.dtype if dtype is None else dtype
        dims = wrap_dims(dim, x.ndim)
        wide = self.precision.accumulators.get(own, own)
        total = self.xp.sum(self.precision.converted(x, wide), axis=dims, keepdims=keepdim)
        total = self.ordered(total)
        size = count(x.shape, dims)
        result = total / size if size else total * math.nan
        return result.astype(own) if wide != own else result

    @operator("nansum")
    def nansum(
        self, x: Array, dim: Dims = None, keepdim: bool = False, *, dtype: NativeDtype | None = None
    ) -> Any:
        """Return the sum over `dim` of elements that are not NaN, like `sum`."""
        if dtype is not None and self.dtypes[dtype].category == COMPLEX:
            raise NotImplementedError(
                f"\"nansum_cpu\" not implemented for '{self.dtypes[dtype].scalar_name}'. Ask for a "
                "real dtype."
            )
        if x.dtype not in self.precision.integral:
            x = self.xp.where(self.xp.isnan(x), self.numbers.like(x, 0), x)
        return self.sum(x, dim, keepdim, dtype=dtype)

    @operator("prod", "prod.dim_int")
    def prod(
        self,
        x: Array,
        dim: int | None = None,
        keepdim: bool = False,
        *,
        dtype: NativeDtype | None = None,
    ) -> Any:
        """Return the product over `dim`, in int64 for integers."""
        if dtype is not None:
            x = self.precision.converted(x, dtype)
        own = x.dtype
        dims = None if dim is None else wrap_dims(dim, x.ndim)
        wide = self.precision.accumulators.get(own, own)
        result = self.ordered(self.xp.prod(x, axis=dims, dtype=wide, keepdims=keepdim))
        return result.astype(
            own if own in self.precision.halves or dtype is not None else result.dtype, copy=False
        )

    @helper("sum_to")
    def sum_to(self, x: Array, shape: Sequence[int]) -> Any:
        """Return the sum of a broadcast array over the broadcast dimensions, in its former
        `shape`.
        """
        shape = tuple(shape)
        if tuple(x.shape) == shape:
            return x
        lead = x.ndim - len(shape)
        dims = tuple(range(lead)) + tuple(
            [dim + lead for dim, size in enumerate(shape) if size == 1 and x.shape[dim + lead] != 1]
        )
        result = self.sum(x, dims, True).astype(x.dtype, copy=False) if dims else x
        return self.xp.reshape(result, shape)

    def _check_all(self, name: str, x: Array, error: type[Exception] = RuntimeError) -> None:
        """Raise an error for the extremum of an array without elements."""
        if not x.size:
            raise error(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. "
                "Specify the reduction dim with the 'dim' argument."
            )

    def _check_dims(self, name: str, x: Array, dims: Sequence[int]) -> None:
        """Raise an error for extrema over dimensions without elements."""
        for dim in dims:
            if not x.shape[dim]:
                raise IndexError(
                    f"{name}(): Expected reduction dim {dim} to have non-zero size. Reduce a "
                    "non-empty dimension."
                )

    def _check_real(self, name: str, x: Array) -> None:
        """Refuse to order complex numbers."""
        if self.dtypes[x.dtype].category == COMPLEX:
            raise NotImplementedError(
                f"\"{name}\" not implemented for '{self.dtypes[x.dtype].scalar_name}': complex "
                "numbers have no order. "
                "Compare real parts or absolute values."
            )

    @operator("amax")
    def amax(self, x: Array, dim: Dims = (), keepdim: bool = False) -> Any:
        """Return the greatest elements over `dim`."""
        return self._extremum("amax", self.xp.amax, x, dim, keepdim)

    @operator("max")
    def max(self, x: Array) -> Any:
        """Return the greatest element."""
        return self._extremum("max", self.xp.amax, x, None, False)

    @operator("argmax")
    def argmax(self, x: Array, dim: int | None = None, keepdim: bool = False) -> Any:
        """Return the index of the first greatest element along `dim`, by default among all."""
        return self._place("argmax", self.xp.argmax, x, dim, keepdim)

    @operator("max.dim", "max.dim_max")
    def max_along(self, x: Array, dim: int, keepdim: bool = False) -> tuple[Any, Any]:
        """Return the greatest elements along `dim`, and their indices."""
        return self._extremum_along("max", self.xp.argmax, x, dim, keepdim)

    @operator("amin")
    def amin(self, x: Array, dim: Dims = (), keepdim: bool = False) -> Any:
        """Return the least elements over `dim`."""
        return self._extremum("amin", self.xp.amin, x, dim, keepdim)

    @operator("min")
    def min(self, x: Array) -> Any:
        """Return the least element."""
        return self._extremum("min", self.xp.amin, x, None, False)

    @operator("argmin")
    def argmin(self, x: Array, dim: int | None = None, keepdim: bool = False) -> Any:
        """Return the index of the first least element along `dim`, by default among all."""
        return self._place("argmin", self.xp.argmin, x, dim, keepdim)

    @operator("min.dim", "min.dim_min")
    def min_along(self, x: Array, dim: int, keepdim: bool = False) -> tuple[Any, Any]:
        """Return the least elements along `dim`, and their indices."""
        return self._extremum_along("min", self.xp.argmin, x, dim, keepdim)

    def _extremum(self, name: str, reduce: Function, x: Array, dim: Dims, keepdim: bool) -> Any:
        """Return the extremum over `dim` that `reduce` finds, for the operator `name`."""
        self._check_real(name, x)
        dims = wrap_dims(dim, x.ndim)
        if not x.size:
            if not dim and dim != 0:
                self._check_all(name, x)
            self._check_dims(name, x, dims)
            return self.capabilities.empty(_reduced_shape(x.shape, dims, keepdim), x.dtype)
        if not dims:
            return self.capabilities.clone(x)
        return self.ordered(reduce(x, axis=dims, keepdims=keepdim))

    def _place(self, name: str, find: Function, x: Array, dim: int | None, keepdim: bool) -> Any:
        """Return the place along `dim` that `find` finds, for the operator `name`."""
        self._check_real(name, x)
        if dim is None:
            self._check_all(name, x, IndexError)
            result = find(self.xp.reshape(x, (-1,)), axis=0)
            return self.xp.reshape(result, (1,) * x.ndim) if keepdim else result
        axis = wrap_dim(dim, x.ndim)
        if not x.ndim:
            return find(self.xp.reshape(x, (1,)), axis=0)
        self._check_dims(name, x, (axis,))
        if not x.size:
            shape = _reduced_shape(x.shape, (axis,), keepdim)
            return self.capabilities.empty(shape, self.xp.int64)
        result = self.ordered(find(x, axis=axis))
        return self.xp.expand_dims(result, axis=axis) if keepdim else result

    def _extremum_along(
        self, name: str, find: Function, x: Array, dim: int, keepdim: bool
    ) -> tuple[Any, Any]:
        """Return the extrema along `dim` and their places, which `find` finds, for the operator
        `name`.
        """
        self._check_real(name, x)
        xp, empty = self.xp, self.capabilities.empty
        axis = wrap_dim(dim, x.ndim)
        if not x.ndim:
            return self.capabilities.clone(x), xp.zeros((), dtype=xp.int64)
        self._check_dims(name, x, (axis,))
        if not x.size:
            shape = _reduced_shape(x.shape, (axis,), keepdim)
            return empty(shape, x.dtype), empty(shape, xp.int64)
        indices = xp.expand_dims(self.ordered(find(x, axis=axis)), axis=axis)
        values = self.ordered(xp.take_along_axis(x, indices, axis=axis))
        return (values, indices) if keepdim else (values.squeeze(axis), indices.squeeze(axis))

    @operator("aminmax")
    def aminmax(
        self, x: Array, *, dim: int | None = None, keepdim: bool = False
    ) -> tuple[Any, Any]:
        """Return the least and the greatest elements along `dim`, by default among all."""
        if dim is None and not x.size:
            raise RuntimeError(
                "aminmax(): cannot compute aminmax over an empty dimension as the operation has "
                "no identity. Give a tensor with elements."
            )
        xp = self.xp
        return (
            self._extremum("aminmax", xp.amin, x, dim, keepdim),
            self._extremum("aminmax", xp.amax, x, dim, keepdim),
        )

    def _tested(self, test: Function, x: Array, dim: Dims, keepdim: bool) -> Any:
        """Return what `test` says of the elements over `dim`; of uint8 as uint8."""
        dims = None if dim is None else wrap_dims(dim, x.ndim)
        result = self.ordered(test(x, axis=dims, keepdims=keepdim))
        return result.astype(self.xp.uint8) if x.dtype == self.xp.uint8 else result

    @operator("any", "any.dim")
    def any(self, x: Array, dim: Dims = None, keepdim: bool = False) -> Any:
        """Return whether an element over `dim` is true, or not 0."""
        return self._tested(self.xp.any, x, dim, keepdim)

    @operator("all", "all.dim")
    def all(self, x: Array, dim: Dims = None, keepdim: bool = False) -> Any:
        """Return whether all elements over `dim` are true, or not 0."""
        return self._tested(self.xp.all, x, dim, keepdim)

    @operator("any.dims")
    def any_over(self, x: Array, dim: Dims = None, keepdim: bool = False) -> Any:
        """Return whether any element over `dim` is true; for no dimensions, whether each element
        is.
        """
        return self._tested_over(self.xp.any, x, dim, keepdim)

    @operator("all.dims")
    def all_over(self, x: Array, dim: Dims = None, keepdim: bool = False) -> Any:
        """Return whether all elements over `dim` are true; for no dimensions, whether each element
        is.
        """
        return self._tested_over(self.xp.all, x, dim, keepdim)

    def _tested_over(self, test: Function, x: Any, dim: Dims, keepdim: bool) -> Any:
        """Return what `test` says over `dim`, where no dimensions are not all of them."""
        if dim is not None and not isinstance(dim, int) and not dim:
            return self.ordered(x != 0).astype(
                x.dtype if x.dtype == self.xp.uint8 else self.xp.bool_, copy=False
            )
        return self._tested(test, x, dim, keepdim)

    @operator("count_nonzero", "count_nonzero.dim_IntList")
    def count_nonzero(self, x: Any, dim: Dims = None) -> Any:
        """Return the number of nonzero elements over `dim`."""
        xp = self.xp
        dims = None if dim is None else wrap_dims(dim, x.ndim)
        return self.ordered(xp.sum(x != 0, axis=dims, dtype=xp.int64))

    def _variance(self, name: str, x: Array, dim: Dims, correction: Any, keepdim: bool) -> Any:
        """Return the mean square distance from the mean, over ``n - correction`` elements, in
        double precision: the square of a float32 may be infinite where its root is not. The
        operator `name` warns where that number is not positive.
        """
        xp = self.xp
        if self.dtypes[x.dtype].category < FLOAT:
            raise RuntimeError(
                "std and var only support floating point and complex dtypes. Convert the tensor "
                "first."
            )
        if x.dtype in self.precision.complex:  # infinite and NaN where one of the parts is
            real, imag = [
                self._variance(name, part, dim, correction, keepdim) for part in (x.real, x.imag)
            ]
            return real + imag
        x = x.astype(xp.float64, copy=False)
        dims = wrap_dims(dim, x.ndim)
        size = count(x.shape, dims)
        correction = 1 if correction is None else double_of(correction)
        if correction >= (size if x.size else 0):
            warn_user(
                f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than "
                f"the reduction factor, but {correction} >= {size if x.size else 0}. Reduce over "
                "more elements, or give correction=0."
            )
        freedom = max(0, size - correction) if size else 0
        # From the first element on, so that equal elements have a variance of exactly 0.
        firsts = tuple([slice(1) if axis in dims else slice(None) for axis in range(x.ndim)])
        away = x - x[firsts] if x.ndim else x - x
        away = away - xp.sum(away, axis=dims, keepdims=True) / (size or math.nan)
        total = self.ordered(xp.sum(away * away, axis=dims, keepdims=keepdim))
        return total / freedom if freedom else total * math.inf

    @operator("var.correction")
    def var(
        self, x: Array, dim: Dims = None, *, correction: Scalar | None = None, keepdim: bool = False
    ) -> Any:
        """Return the variance over `dim`: ``sum(abs(x - mean) ** 2) / (n - correction)``."""
        return self._variance("var", x, dim, correction, keepdim).astype(
            self._real_of(x), copy=False
        )

    @operator("std.correction")
    def std(
        self, x: Array, dim: Dims = None, *, correction: Scalar | None = None, keepdim: bool = False
    ) -> Any:
        """Return the standard deviation over `dim`, the root of `var`."""
        result = self.xp.sqrt(self._variance("std", x, dim, correction, keepdim))
        return result.astype(self._real_of(x), copy=False)

    def _with_mean(
        self, name: str, x: Array, dim: Dims, correction: object, keepdim: bool
    ) -> tuple[Any, Any]:
        """Return the variance, in double precision, and the mean."""
        if self.dtypes[x.dtype].category < FLOAT:
            raise RuntimeError(
                f"{name} only support floating point and complex dtypes. Convert the tensor first."
            )
        return self._variance(name, x, dim, correction, keepdim), self.mean(x, dim, keepdim)

    @operator("var_mean.correction")
    def var_mean(
        self, x: Array, dim: Dims = None, *, correction: object = None, keepdim: bool = False
    ) -> tuple[Any, Any]:
        """Return the variance over `dim` as `var` does, and the mean."""
        variance, mean = self._with_mean("var_mean", x, dim, correction, keepdim)
        return variance.astype(self._real_of(x), copy=False), mean

    @operator("std_mean.correction")
    def std_mean(
        self, x: Array, dim: Dims = None, *, correction: object = None, keepdim: bool = False
    ) -> tuple[Any, Any]:
        """Return the standard deviation over `dim` as `std` does, and the mean."""
        variance, mean = self._with_mean("std_mean", x, dim, correction, keepdim)
        return self.xp.sqrt(variance).astype(self._real_of(x), copy=False), mean

    def _real_of(self, x: Array) -> Any:
        """Return the dtype of the size of the elements of an array."""
        return x.real.dtype if x.dtype in self.precision.complex else x.dtype


def _reduced_shape(shape: Sequence[int], dims: Sequence[int], keepdim: bool) -> tuple[int, ...]:
    if keepdim:
        return tuple([1 if dim in dims else size for dim, size in enumerate(shape)])
    return tuple([size for dim, size in enumerate(shape) if dim not in dims])
