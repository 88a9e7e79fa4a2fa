"""Operators that copy elements into another shape or order, and copies between tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from dovetail_kernel import MemoryFormat, TensorBase, bump_version, preserve_format, promote_types
from dovetail_kernel import dtype as DType

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
    extra = len(repeats) - self.ndim
    if extra < 0:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            "tensor: "
            f"{len(repeats)} < {self.ndim}"
        )
    return like(
        self, [n * times for n, times in zip([1] * extra + list(self.shape), repeats, strict=True)]
    )


def cat(tensors: Sequence[MetaArray], dim: int = 0) -> MetaArray:
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    dtype = tensors[0].dtype
    for tensor in tensors[1:]:
        dtype = promote_types(dtype, tensor.dtype)
    # As in PyTorch, a 1-d tensor without elements fits anywhere.
    kept = [tensor for tensor in tensors if tensor.shape != (0,)]
    if not kept:
        return MetaArray((0,), dtype)
    first = kept[0]
    if any([not tensor.ndim for tensor in kept]):
        raise RuntimeError(
            "zero-dimensional tensor (at position 0) cannot be concatenated. Use stack."
        )
    place = wrap_dim(dim, first.ndim)
    for number, tensor in enumerate(kept):
        if tensor.ndim != first.ndim:
            raise RuntimeError(
                f"Tensors must have same number of dimensions: got {first.ndim} and {tensor.ndim} "
                "for tensor "
                f"number {number}"
            )
        for i, (a, b) in enumerate(zip(first.shape, tensor.shape, strict=True)):
            if a != b and i != place:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {place}. Expected size {a} "
                    f"but got size {b} for "
                    f"tensor number {number} in the list."
                )
    shape = list(first.shape)
    shape[place] = sum(tensor.shape[place] for tensor in kept)
    return MetaArray(shape, dtype)


def stack(tensors: Sequence[MetaArray], dim: int = 0) -> MetaArray:
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = tensors[0]
    dtype = first.dtype
    for number, tensor in enumerate(tensors):
        dtype = promote_types(dtype, tensor.dtype)
        if tensor.shape != first.shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first.shape)} at "
                "entry 0 and "
                f"{list(tensor.shape)} at entry {number}"
            )
    shape = list(first.shape)
    shape.insert(wrap_dim(dim, first.ndim + 1), len(tensors))
    return MetaArray(shape, dtype)


def triangle(self: MetaArray, diagonal: int = 0) -> MetaArray:
    if self.ndim < 2:
        raise RuntimeError("tril: input tensor must have at least 2 dimensions")
    return like(self)


def diag_embed(self: MetaArray, offset: int = 0, dim1: int = -2, dim2: int = -1) -> MetaArray:
    ndim = self.ndim + 1
    a, b = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if a == b:
        raise RuntimeError(
            f"diagonal dimensions cannot be identical {dim1}, {dim2}. Name two dimensions."
        )
    size = self.shape[-1] + abs(offset)
    shape = list(self.shape[:-1])
    for place in sorted((a, b)):
        shape.insert(place, size)
    return MetaArray(shape, self.dtype)


def constant_pad_nd(self: MetaArray, pad: Sequence[int], value: Scalar = 0) -> MetaArray:
    if len(pad) % 2 or len(pad) > 2 * self.ndim:
        raise RuntimeError(
            "Length of pad must be even and no more than twice the number of dimensions of the "
            "input. Pad length is "
            f"{len(pad)} while the input has {self.ndim} dimensions."
        )
    shape = list(self.shape)
    for i in range(len(pad) // 2):
        place = self.ndim - 1 - i
        shape[place] += pad[2 * i] + pad[2 * i + 1]
        if shape[place] < 0:
            raise RuntimeError(
                f"The input size {self.shape[place]}, plus negative padding {pad[2 * i]} and "
                f"{pad[2 * i + 1]}, "
                f"resulted in a negative output size, which is invalid. Check dimension {place} "
                "of your input."
            )
    return like(self, shape)


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
