"""View operators: another geometry of the same memory."""

from __future__ import annotations

from collections.abc import Sequence

from dovetail_kernel import dtype as DType

from ...kernel_support.dims import infer_size, wrap_dim
from ...meta.meta_array import MetaArray, reshaped_strides
from ...meta.view_shapes import select, slice_along
from .kernels.reinterpretation import check_pairs, check_reinterpreted


def view(self: MetaArray, size: Sequence[int]) -> MetaArray:
    shape = infer_size(size, self.size)
    strides = reshaped_strides(self.shape, self.element_strides, shape)
    if strides is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return self.shown(shape, strides)


def permute(self: MetaArray, dims: Sequence[int]) -> MetaArray:
    if len(dims) != self.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            "length of the desired "
            f"ordering of dimensions i.e. input.dim() = {self.ndim} is not equal to len(dims) = "
            f"{len(dims)}"
        )
    order = [wrap_dim(dim, self.ndim) for dim in dims]
    if len(set(order)) < len(order):
        raise RuntimeError("permute(): duplicate dims are not allowed. Name every dimension once.")
    return self.transpose(*order) if order else self.view()


def transpose(self: MetaArray, dim0: int, dim1: int) -> MetaArray:
    order = list(range(self.ndim))
    a, b = wrap_dim(dim0, self.ndim), wrap_dim(dim1, self.ndim)
    if order:
        order[a], order[b] = order[b], order[a]
        return self.transpose(*order)
    return self.view()


def t(self: MetaArray) -> MetaArray:
    if self.ndim > 2:
        raise RuntimeError(
            f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D. Use transpose "
            "or mT."
        )
    return self.transpose() if self.ndim else self.view()


def expand(self: MetaArray, size: Sequence[int], *, implicit: bool = False) -> MetaArray:
    extra = len(size) - self.ndim
    if extra < 0:
        raise RuntimeError(
            f"expand: the number of sizes provided ({len(size)}) must be greater or equal to the "
            "number of dimensions "
            f"in the tensor ({self.ndim})"
        )
    shape, strides = [], []
    for dim, wanted in enumerate(size):
        own = self.shape[dim - extra] if dim >= extra else None
        stride = self.element_strides[dim - extra] if dim >= extra else 0
        if wanted == -1:
            if own is None:
                raise RuntimeError(
                    "The expanded size of the tensor (-1) isn't allowed in a leading, "
                    f"non-existing dimension {dim}"
                )
            wanted = own
        if own is not None and own not in (1, wanted):
            raise RuntimeError(
                f"The expanded size of the tensor ({wanted}) must match the existing size ({own}) "
                "at non-singleton "
                f"dimension {dim}.  Target sizes: {list(size)}.  Tensor sizes: {list(self.shape)}"
            )
        if own is None:
            stride = 0 if wanted != 1 else (strides_after(self) if dim == extra - 1 else 0)
        elif own != wanted:
            stride = 0
        shape.append(wanted)
        strides.append(stride)
    return self.shown(shape, strides)


def strides_after(self: MetaArray) -> int:
    """Return the stride of a new leading dimension of size 1."""
    return self.shape[0] * self.element_strides[0] if self.ndim else 1


def unsqueeze(self: MetaArray, dim: int) -> MetaArray:
    place = wrap_dim(dim, self.ndim + 1)
    stride = self.shape[place] * self.element_strides[place] if place < self.ndim else 1
    shape, strides = list(self.shape), list(self.element_strides)
    shape.insert(place, 1)
    strides.insert(place, stride)
    return self.shown(shape, strides)


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
    if not self.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    place = wrap_dim(dim, self.ndim)
    size = self.shape[place]
    if split_size < 0 or (not split_size and size):
        raise RuntimeError(
            f"split expects split_size be non-negative, but got split_size={split_size}"
        )
    starts = range(0, size, split_size) if split_size and size else (0,)
    return [slice_along(self, place, start, start + split_size) for start in starts]


def split_with_sizes(self: MetaArray, split_sizes: Sequence[int], dim: int = 0) -> list[MetaArray]:
    place = wrap_dim(dim, self.ndim)
    if sum(split_sizes) != self.shape[place] or any([n < 0 for n in split_sizes]):
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {self.shape[place]} (input "
            "tensor's size at "
            f"dimension {place}), but got split_sizes={list(split_sizes)}"
        )
    starts = [sum(split_sizes[:i]) for i in range(len(split_sizes))]
    return [
        slice_along(self, place, start, start + n)
        for start, n in zip(starts, split_sizes, strict=True)
    ]


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
