"""View operators: another geometry of the same memory."""

from __future__ import annotations

from collections.abc import Sequence

from dovetail_kernel import dtype as DType

from ...kernel_support.checks.view_checks import (
    check_permutation,
    check_split,
    check_split_sizes,
    check_t,
    expanded_sizes,
    incompatible_view,
)
from ...kernel_support.dims import infer_size, wrap_dim
from ...kernel_support.geometry.memory_layout import (
    expanded_strides,
    reshaped_strides,
    unsqueezed_strides,
)
from ...meta.meta_array import MetaArray
from ...meta.view_shapes import select, slice_along
from .kernels.reinterpretation import check_pairs, check_reinterpreted


def view(self: MetaArray, size: Sequence[int]) -> MetaArray:
    shape = infer_size(size, self.size)
    strides = reshaped_strides(self.shape, self.element_strides, shape)
    if strides is None:
        raise incompatible_view()
    return self.shown(shape, strides)


def permute(self: MetaArray, dims: Sequence[int]) -> MetaArray:
    order = check_permutation(tuple(dims), self.ndim)
    return self.transpose(*order) if order else self.view()


def transpose(self: MetaArray, dim0: int, dim1: int) -> MetaArray:
    order = list(range(self.ndim))
    a, b = wrap_dim(dim0, self.ndim), wrap_dim(dim1, self.ndim)
    if order:
        order[a], order[b] = order[b], order[a]
        return self.transpose(*order)
    return self.view()


def t(self: MetaArray) -> MetaArray:
    check_t(self.ndim)
    return self.transpose() if self.ndim else self.view()


def expand(self: MetaArray, size: Sequence[int], *, implicit: bool = False) -> MetaArray:
    shape = expanded_sizes(tuple(size), self.shape)
    return self.shown(shape, expanded_strides(self.shape, self.element_strides, shape))


def unsqueeze(self: MetaArray, dim: int) -> MetaArray:
    place = wrap_dim(dim, self.ndim + 1)
    shape = (*self.shape[:place], 1, *self.shape[place:])
    return self.shown(shape, unsqueezed_strides(place, self.shape, self.element_strides, shape))


def _without(self: MetaArray, dims: Sequence[int]) -> MetaArray:
    kept = [i for i, n in enumerate(self.shape) if i not in dims or n != 1]
    return self.shown([self.shape[i] for i in kept], [self.element_strides[i] for i in kept])


def squeeze(self: MetaArray, dim: int | Sequence[int] | None = None) -> MetaArray:
    named = [dim] if isinstance(dim, int) else dim
    return _without(
        self, range(self.ndim) if named is None else [wrap_dim(each, self.ndim) for each in named]
    )


def unbind(self: MetaArray, dim: int = 0) -> list[MetaArray]:
    if not self.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    place = wrap_dim(dim, self.ndim)
    return [select(self, place, i) for i in range(self.shape[place])]


def split(self: MetaArray, split_size: int, dim: int = 0) -> list[MetaArray]:
    place, starts = check_split(self.shape, split_size, dim)
    return [slice_along(self, place, start, start + split_size) for start in starts]


def split_with_sizes(self: MetaArray, split_sizes: Sequence[int], dim: int = 0) -> list[MetaArray]:
    place, pieces = check_split_sizes(self.shape, split_sizes, dim)
    return [slice_along(self, place, piece.start, piece.stop) for piece in pieces]


def alias(self: MetaArray) -> MetaArray:
    return self.view()


def view_dtype(self: MetaArray, dtype: DType) -> MetaArray:
    check_reinterpreted(self.dtype, dtype, self.shape, self.element_strides, lambda: self.offset)
    old, new = self.dtype.itemsize, dtype.itemsize
    shape, strides, offset = list(self.shape), list(self.element_strides), self.offset
    if old != new:
        shape[-1] = shape[-1] * old // new
        strides = [s * old // new for s in strides[:-1]] + [1]
        offset = offset * old // new
    return MetaArray(shape, dtype, strides, offset, self.memory)


def view_as_real(self: MetaArray) -> MetaArray:
    if not self.dtype.is_complex:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    strides = [*(2 * s for s in self.element_strides), 1]
    return MetaArray((*self.shape, 2), self.dtype.to_real(), strides, 2 * self.offset, self.memory)


def view_as_complex(self: MetaArray) -> MetaArray:
    whole = check_pairs(self.dtype, self.shape, self.element_strides, lambda: self.offset)
    strides = [s // 2 for s in self.element_strides[:-1]]
    return MetaArray(self.shape[:-1], whole, strides, self.offset // 2, self.memory)
