"""Operators that copy elements into another shape or order, and copies between tensors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NoReturn

from dovetail_kernel import MemoryFormat, TensorBase, bump_version, preserve_format, promote_types
from dovetail_kernel import dtype as DType

from ..kernel_support.checks.copy_checks import (
    cat_error,
    check_cat,
    check_repeats,
    check_stack,
    check_triangle,
    embedded_shape,
    padded_shape,
)
from ..kernel_support.dims import infer_size, wrap_dim, wrap_dims
from ..kernel_support.geometry.border_geometry import bordered_shape, bordered_sizes, sources_of
from ..kernel_support.geometry.broadcasting import broadcast_shapes
from ..kernel_support.geometry.memory_layout import required_order, strides_in_order
from ..typing import Scalar
from .meta_array import MetaArray
from .table import dense_like, like


def clone(self: MetaArray, *, memory_format: Any = None) -> MetaArray:
    return _copied(self, self.dtype, memory_format)


def to_copy(
    self: MetaArray,
    *,
    dtype: DType | None = None,
    memory_format: MemoryFormat | None = None,
    **_options: Any,
) -> MetaArray:
    return _copied(self, dtype or self.dtype, memory_format)


def _copied(self: MetaArray, dtype: DType, memory_format: MemoryFormat | None) -> MetaArray:
    if memory_format in (None, preserve_format):
        return dense_like(self, dtype)
    order = required_order(memory_format, self.ndim)
    return MetaArray(self.shape, dtype, strides_in_order(self.shape, order))


def unsafe_view(self: MetaArray, size: Sequence[int]) -> MetaArray:
    return self.reshape(infer_size(size, self.size))


def flip(self: MetaArray, dims: Sequence[int]) -> MetaArray:
    if dims:
        wrap_dims(dims, self.ndim)
    return dense_like(self)


def roll(self: MetaArray, shifts: Sequence[int], dims: Sequence[int] = ()) -> MetaArray:
    return like(self)


def repeat(self: MetaArray, repeats: Sequence[int]) -> MetaArray:
    own = check_repeats(repeats, self.shape)
    return like(self, [n * times for n, times in zip(own, repeats, strict=True)])


def cat(tensors: Sequence[MetaArray], dim: int = 0) -> MetaArray:
    check_cat([tensor.ndim for tensor in tensors])
    dtype = reduce(promote_types, [tensor.dtype for tensor in tensors])
    # As in PyTorch, a 1-d tensor without elements fits anywhere.
    shapes = [tensor.shape for tensor in tensors if tensor.shape != (0,)]
    if not shapes:
        return MetaArray((0,), dtype)
    place = wrap_dim(dim, len(shapes[0]))
    if error := cat_error(shapes, place):
        raise error
    shape = list(shapes[0])
    shape[place] = sum([each[place] for each in shapes])
    return MetaArray(shape, dtype)


def stack(tensors: Sequence[MetaArray], dim: int = 0) -> MetaArray:
    place = check_stack([tensor.shape for tensor in tensors], dim)
    shape = list(tensors[0].shape)
    shape.insert(place, len(tensors))
    return MetaArray(shape, reduce(promote_types, [tensor.dtype for tensor in tensors]))


def triangle(self: MetaArray, diagonal: int = 0) -> MetaArray:
    check_triangle("tril", self.ndim)
    return like(self)


def diag_embed(self: MetaArray, offset: int = 0, dim1: int = -2, dim2: int = -1) -> MetaArray:
    return like(self, embedded_shape(self.shape, offset, dim1, dim2)[0])


def constant_pad_nd(self: MetaArray, pad: Sequence[int], value: Scalar = 0) -> MetaArray:
    return like(self, padded_shape(self.shape, pad))


def bordered(self: MetaArray, pad: Sequence[int], mode: str) -> MetaArray:
    sources_of(tuple(self.shape), tuple(pad), mode)
    return like(self, bordered_shape(self.shape, pad))


def bordered_backward(
    grad_output: MetaArray, pad: Sequence[int], mode: str, input_size: Sequence[int]
) -> MetaArray:
    return like(grad_output, bordered_sizes(grad_output.shape, pad, input_size))


def local_scalar_dense(self: MetaArray) -> NoReturn:
    raise RuntimeError(
        "Tensor.item() cannot be called on meta tensors: they have no data. Make the tensor on a "
        "real device."
    )


def copy(self: TensorBase, src: TensorBase, non_blocking: bool = False) -> TensorBase:
    """Count a write to `self`, where one of the two tensors is a meta tensor."""
    if not self.is_meta:
        raise NotImplementedError(
            "Cannot copy out of meta tensor; no data! Make an empty tensor on the other device: "
            "empty_like(x, "
            "device=...)."
        )
    own, other = tuple(self.shape), tuple(src.shape)
    if broadcast_shapes([own, other]) != own:
        raise RuntimeError(
            f"output with shape {list(own)} doesn't match the broadcast shape "
            f"{list(broadcast_shapes([own, other]))}"
        )
    bump_version(self)
    return self
