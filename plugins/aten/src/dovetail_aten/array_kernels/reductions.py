"""Reductions, cumulative sums and products, and order: sort, topk, nonzero."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail_kernel.types.dtype import COMPLEX, FLOAT

from .capabilities import Capabilities
from .dims import wrap_dim, wrap_dims
from .memory_order import in_c_order
from .operands import Numbers, Precision
from .table import KernelTable

Dims = int | Sequence[int] | None


def define(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    """Define the kernels of this family."""
    _define_sums(xp, kernel, capabilities)
    _define_extrema(xp, kernel, capabilities)
    _define_logic(xp, kernel, capabilities)
    _define_statistics(xp, kernel, capabilities)
    _define_norms(xp, kernel, capabilities)
    _define_scans(xp, kernel, capabilities)
    _define_order(xp, kernel, capabilities)


def count(shape: Sequence[int], dims: Sequence[int]) -> int:
    """Return how many elements a reduction over `dims` combines."""
    return math.prod([shape[dim] for dim in dims])


def _define_sums(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    precision = Precision(capabilities)
    accumulators, halves, dtypes = precision.accumulators, precision.halves, capabilities.dtypes
    ordered = in_c_order(capabilities)

    @kernel.named("sum", "sum.dim_IntList")
    def sum_(self: Any, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
        own = self.dtype
        dims = None if dim is None else wrap_dims(dim, self.ndim)
        if dtype is not None:
            result = xp.sum(
                self.astype(dtype), dims, accumulators.get(dtype, dtype), None, keepdim
            ).astype(dtype)
            return ordered(result)
        if own not in accumulators:
            return ordered(xp.sum(self, dims, None, None, keepdim))
        result = ordered(xp.sum(self, dims, accumulators[own], None, keepdim))
        return result.astype(own) if own in halves else result

    def check_mean(own: Any, dtype: Any) -> None:
        kind = dtypes[own if dtype is None else dtype]
        if kind.category < FLOAT:
            which = "Input" if dtype is None else "Optional"
            raise RuntimeError(
                f"mean(): could not infer output dtype. {which} dtype must be either a floating "
                "point or complex dtype. "
                f"Got: {kind.scalar_name}. Give dtype=, or convert the tensor."
            )

    @kernel.named("mean", "mean.dim")
    def mean(self: Any, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
        check_mean(self.dtype, dtype)
        own = self.dtype if dtype is None else dtype
        dims = wrap_dims(dim, self.ndim)
        wide = accumulators.get(own, own)
        total = ordered(xp.sum(self.astype(wide, copy=False), dims, None, None, keepdim))
        size = count(self.shape, dims)
        result = total / size if size else total * math.nan
        return result.astype(own) if wide != own else result

    @kernel.named("prod", "prod.dim_int")
    def prod(self: Any, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
        if dtype is not None:
            self = self.astype(dtype)
        own = self.dtype
        dims = None if dim is None else wrap_dims(dim, self.ndim)
        result = ordered(xp.prod(self, dims, accumulators.get(own, own), None, keepdim))
        return result.astype(
            own if own in halves or dtype is not None else result.dtype, copy=False
        )

    @kernel.helper("sum_to")
    def sum_to(self: Any, shape: Sequence[int]) -> Any:
        """Sum a broadcast array back to `shape`."""
        shape = tuple(shape)
        if tuple(self.shape) == shape:
            return self
        lead = self.ndim - len(shape)
        dims = tuple(range(lead)) + tuple(
            [
                dim + lead
                for dim, size in enumerate(shape)
                if size == 1 and self.shape[dim + lead] != 1
            ]
        )
        result = sum_(self, dims, True).astype(self.dtype, copy=False) if dims else self
        return result.reshape(shape)


def _define_extrema(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    dtypes = capabilities.dtypes
    ordered = in_c_order(capabilities)

    def check_all(name: str, self: Any, error: type[Exception] = RuntimeError) -> None:
        if not self.size:
            raise error(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. "
                "Specify the reduction dim with the 'dim' argument."
            )

    def check_dims(name: str, self: Any, dims: Sequence[int]) -> None:
        for dim in dims:
            if not self.shape[dim]:
                raise IndexError(
                    f"{name}(): Expected reduction dim {dim} to have non-zero size. Reduce a "
                    "non-empty dimension."
                )

    def check_real(name: str, self: Any) -> None:
        if dtypes[self.dtype].category == COMPLEX:
            raise NotImplementedError(
                f"\"{name}\" not implemented for '{dtypes[self.dtype].scalar_name}': complex "
                "numbers have no order. "
                "Compare real parts or absolute values."
            )

    def define_extremum(name: str, reduce: Any, arg: Any) -> None:
        def extremum(self: Any, dim: Dims, keepdim: bool, called: str) -> Any:
            check_real(called, self)
            dims = wrap_dims(dim, self.ndim)
            if not self.size:
                if not dim and dim != 0:
                    check_all(called, self)
                check_dims(called, self, dims)
                return capabilities.empty(_reduced_shape(self.shape, dims, keepdim), self.dtype)
            return ordered(reduce(self, dims, None, keepdim)) if dims else capabilities.clone(self)

        @kernel.named(f"a{name}")
        def aextremum(self: Any, dim: Dims = (), keepdim: bool = False) -> Any:
            return extremum(self, dim, keepdim, f"a{name}")

        @kernel.named(name)
        def extremum_of_all(self: Any) -> Any:
            return extremum(self, None, False, name)

        @kernel.named(f"arg{name}")
        def argextremum(self: Any, dim: int | None = None, keepdim: bool = False) -> Any:
            check_real(f"arg{name}", self)
            if dim is None:
                check_all(f"arg{name}", self, IndexError)
                result = arg(self.reshape(-1), 0)
                return result.reshape((1,) * self.ndim) if keepdim else result
            axis = wrap_dim(dim, self.ndim)
            if not self.ndim:
                return arg(self.reshape(1), 0)
            check_dims(f"arg{name}", self, (axis,))
            if not self.size:
                return capabilities.empty(_reduced_shape(self.shape, (axis,), keepdim), xp.int64)
            result = ordered(arg(self, axis))
            return xp.expand_dims(result, axis) if keepdim else result

        @kernel.named(f"{name}.dim", f"{name}.dim_{name}")
        def extremum_along(self: Any, dim: int, keepdim: bool = False) -> tuple[Any, Any]:
            check_real(name, self)
            axis = wrap_dim(dim, self.ndim)
            if not self.ndim:
                return capabilities.clone(self), xp.zeros((), xp.int64)
            check_dims(name, self, (axis,))
            if not self.size:
                shape = _reduced_shape(self.shape, (axis,), keepdim)
                return capabilities.empty(shape, self.dtype), capabilities.empty(shape, xp.int64)
            indices = xp.expand_dims(ordered(arg(self, axis)), axis)
            values = ordered(xp.take_along_axis(self, indices, axis))
            return (values, indices) if keepdim else (values.squeeze(axis), indices.squeeze(axis))

    define_extremum("max", xp.amax, xp.argmax)
    define_extremum("min", xp.amin, xp.argmin)


def _reduced_shape(shape: Sequence[int], dims: Sequence[int], keepdim: bool) -> tuple[int, ...]:
    if keepdim:
        return tuple([1 if dim in dims else size for dim, size in enumerate(shape)])
    return tuple([size for dim, size in enumerate(shape) if dim not in dims])


def _define_logic(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    ordered = in_c_order(capabilities)

    def define_test(name: str, test: Any) -> None:
        @kernel.named(name, f"{name}.dim")
        def reduce(self: Any, dim: Dims = None, keepdim: bool = False) -> Any:
            result = ordered(
                test(self, None if dim is None else wrap_dims(dim, self.ndim), None, keepdim)
            )
            return result.astype(xp.uint8) if self.dtype == xp.uint8 else result

    define_test("any", xp.any)
    define_test("all", xp.all)

    @kernel.named("count_nonzero", "count_nonzero.dim_IntList")
    def count_nonzero(self: Any, dim: Dims = None) -> Any:
        dims = None if dim is None else wrap_dims(dim, self.ndim)
        return ordered(xp.sum(self != 0, dims, xp.int64))


def _define_statistics(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    precision, dtypes = Precision(capabilities), capabilities.dtypes
    ordered = in_c_order(capabilities)

    @precision.widened
    def variance(self: Any, dim: Dims, correction: Any, keepdim: bool) -> Any:
        if dtypes[self.dtype].category < FLOAT:
            raise RuntimeError(
                "std and var only support floating point and complex dtypes. Convert the tensor "
                "first."
            )
        dims = wrap_dims(dim, self.ndim)
        size = count(self.shape, dims)
        freedom = max(0, size - (1 if correction is None else correction)) if size else 0
        mean = xp.sum(self, dims, None, None, True) / (size or math.nan)
        away = self - mean.astype(self.dtype, copy=False)
        square = (
            away.real * away.real + away.imag * away.imag
            if self.dtype in precision.complex
            else away * away
        )
        total = ordered(xp.sum(square, dims, None, None, keepdim))
        return total / freedom if freedom else total * math.inf

    @kernel.named("var.correction")
    def var(self: Any, dim: Dims = None, *, correction: Any = None, keepdim: bool = False) -> Any:
        return variance(self, dim, correction, keepdim)

    @kernel.named("std.correction")
    def std(self: Any, dim: Dims = None, *, correction: Any = None, keepdim: bool = False) -> Any:
        return xp.sqrt(variance(self, dim, correction, keepdim))


def _define_norms(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    numbers, precision, dtypes = Numbers(capabilities), Precision(capabilities), capabilities.dtypes
    ordered = in_c_order(capabilities)

    def norm_of(self: Any, ord: Any, dims: tuple[int, ...], keepdim: bool) -> Any:
        if ord in (math.inf, -math.inf):
            if not count(self.shape, dims):
                raise RuntimeError(
                    f"linalg.vector_norm cannot compute the {ord} norm on an empty tensor because "
                    "the operation does "
                    "not have an identity. Take it of a non-empty tensor."
                )
            return (xp.amax if ord > 0 else xp.amin)(xp.absolute(self), dims, None, keepdim)
        if ord == 2:
            if self.dtype in precision.complex:
                return xp.sqrt(
                    xp.sum(self.real * self.real + self.imag * self.imag, dims, None, None, keepdim)
                )
            return xp.sqrt(xp.sum(self * self, dims, None, None, keepdim))
        size = xp.absolute(self)
        if ord == 0:
            return xp.sum(size != 0, dims, size.dtype, None, keepdim)
        if ord == 1:
            return xp.sum(size, dims, None, None, keepdim)
        total = xp.sum(xp.power(size, numbers.like(size, ord)), dims, None, None, keepdim)
        return xp.power(total, numbers.like(total, 1 / ord))

    @kernel.named("linalg_vector_norm")
    def vector_norm(
        self: Any, ord: Any = 2, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None
    ) -> Any:
        kind = dtypes[self.dtype if dtype is None else dtype]
        if kind.category < FLOAT:
            raise RuntimeError(
                "linalg.vector_norm: Expected a floating point or complex tensor as input. "
                f"Got {kind.scalar_name}. Convert it, or give dtype=."
            )
        if dtype is not None:
            self = self.astype(dtype)
        own = self.dtype
        wide = self.astype(precision.single) if own in precision.halves else self
        result = ordered(norm_of(wide, ord, wrap_dims(dim, self.ndim), keepdim))
        return result.astype(own) if own in precision.halves else result

    @kernel.named("norm.Scalar", "norm.ScalarOpt_dim")
    def norm(self: Any, p: Any = 2, dim: Dims = None, keepdim: bool = False) -> Any:
        return vector_norm(self, 2 if p is None else p, dim, keepdim)

    @kernel.named("logsumexp")
    def logsumexp(self: Any, dim: Dims, keepdim: bool = False) -> Any:
        self = numbers.as_float(self)
        own = self.dtype
        if own in precision.halves:
            return logsumexp(self.astype(precision.single), dim, keepdim).astype(own)
        dims = wrap_dims(dim, self.ndim)
        if not count(self.shape, dims):
            return ordered(xp.log(xp.sum(self, dims, None, None, keepdim)))
        top = xp.amax(self.real if own in precision.complex else self, dims, None, True)
        top = xp.where(xp.isfinite(top), top, numbers.like(top, 0))
        total = xp.log(xp.sum(xp.exp(self - top), dims, None, None, keepdim))
        return ordered(total + (top if keepdim else top.squeeze(dims)))


def _define_scans(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    precision = Precision(capabilities)
    accumulators, halves = precision.accumulators, precision.halves
    ordered = in_c_order(capabilities)

    def define_scan(name: str, scan: Any) -> None:
        @kernel.named(name)
        def cumulative(self: Any, dim: int, *, dtype: Any = None) -> Any:
            if dtype is not None:
                self = self.astype(dtype)
            own = self.dtype
            axis = wrap_dim(dim, self.ndim)
            if not self.ndim:
                return self.astype(
                    own if own in halves or dtype is not None else accumulators.get(own, own)
                )
            result = ordered(scan(self, axis, accumulators.get(own, own)))
            return result.astype(own, copy=False) if own in halves or dtype is not None else result

    define_scan("cumsum", xp.cumsum)
    define_scan("cumprod", xp.cumprod)


def _define_order(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    def order(self: Any, axis: int, descending: bool) -> Any:
        if not descending:
            return xp.argsort(self, axis, kind="stable")
        # Ascending from the far end and then read backwards keeps equal elements in their order,
        # and NaN first.
        size = self.shape[axis]
        backwards = xp.argsort(xp.flip(self, axis), axis, kind="stable")
        return (size - 1) - xp.flip(backwards, axis)

    @kernel.named("sort")
    def sort(self: Any, dim: int = -1, descending: bool = False) -> tuple[Any, Any]:
        axis = wrap_dim(dim, self.ndim)
        if not self.ndim:
            return capabilities.clone(self), xp.zeros((), xp.int64)
        indices = order(self, axis, descending)
        return xp.take_along_axis(self, indices, axis), indices

    @kernel.named("topk")
    def topk(
        self: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
    ) -> tuple[Any, Any]:
        axis = wrap_dim(dim, self.ndim)
        size = self.shape[axis] if self.ndim else 1
        if not 0 <= k <= size:
            raise RuntimeError(
                f"selected index k out of range: {k} of {size} elements along dim {dim}"
            )
        if not self.ndim:
            return capabilities.clone(self), xp.zeros((), xp.int64)
        key = (slice(None),) * axis + (slice(0, k),)
        indices = capabilities.clone(order(self, axis, largest)[key])
        return xp.take_along_axis(self, indices, axis), indices

    @kernel.named("nonzero")
    def nonzero(self: Any) -> Any:
        return (
            xp.stack(xp.nonzero(self), 1) if self.ndim else xp.zeros((int(bool(self)), 0), xp.int64)
        )
