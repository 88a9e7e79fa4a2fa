"""Views: those of a batch are views too, so that a write to one is seen by the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail_dispatcher import Operator

from .._generated import functions as F
from ..kernel_support.dims import infer_size, wrap_dim
from ..kernel_support.geometry.border_geometry import sources_of
from ..kernel_support.geometry.view_bounds import extent
from ..typing import Batch, Dims, Scalar, Tensor
from .table import Rule, front, logical_ndim, logical_shape, padded


def view(info: Batch, in_dims: Dims, self: Any, size: Sequence[int]) -> tuple[Any, Any]:
    return F.view(self, (info.batch_size, *infer_size(size, math.prod(logical_shape(self, 0))))), 0


def unsafe_view(info: Batch, in_dims: Dims, self: Any, size: Sequence[int]) -> tuple[Any, Any]:
    return F._unsafe_view(
        self, (info.batch_size, *infer_size(size, math.prod(logical_shape(self, 0))))
    ), 0


def permute(info: Batch, in_dims: Dims, self: Any, dims: Sequence[int]) -> tuple[Any, Any]:
    ndim = logical_ndim(self, 0)
    if len(dims) != ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            "length of the desired "
            f"ordering of dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = "
            f"{len(dims)}"
        )
    return F.permute(self, [0, *[front(dim, ndim) for dim in dims]]), 0


def transpose(info: Batch, in_dims: Dims, self: Any, dim0: int, dim1: int) -> tuple[Any, Any]:
    ndim = logical_ndim(self, 0)
    first, second = front(dim0, ndim), front(dim1, ndim)
    return F.transpose(self, first, second) if ndim else F.alias(self), 0


def t(info: Batch, in_dims: Dims, self: Any) -> tuple[Any, Any]:
    ndim = logical_ndim(self, 0)
    if ndim > 2:
        raise RuntimeError(
            f"t() expects a tensor with <= 2 dimensions, but self is {ndim}D. Use transpose or mT."
        )
    return F.transpose(self, 1, 2) if ndim == 2 else F.alias(self), 0


def select(info: Batch, in_dims: Dims, self: Any, dim: int, index: int) -> tuple[Any, Any]:
    ndim = logical_ndim(self, 0)
    if not ndim:
        raise IndexError(
            "select() cannot be applied to a 0-dim tensor. Use item() or index with nothing."
        )
    return F.select(self, front(dim, ndim), index), 0


def slice_along(
    info: Batch,
    in_dims: Dims,
    self: Any,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> tuple[Any, Any]:
    ndim = logical_ndim(self, 0)
    if not ndim:
        raise RuntimeError(
            "slice() cannot be applied to a 0-dim tensor. Give it a dimension: x.reshape(1)."
        )
    return F.slice(self, front(dim, ndim), start, end, step), 0


def expand(
    info: Batch, in_dims: Dims, self: Any, size: Sequence[int], *, implicit: bool = False
) -> tuple[Any, Any]:
    ndim = logical_ndim(self, 0)
    added = len(size) - ndim
    if added < 0:
        raise RuntimeError(
            f"expand: the number of sizes provided ({len(size)}) must be greater or equal to the "
            "number of dimensions "
            f"in the tensor ({ndim})"
        )
    for dim, wanted in enumerate(size[:added]):
        if wanted == -1:
            raise RuntimeError(
                "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing "
                f"dimension {dim}"
            )
    return F.expand(padded(self, 0, len(size)), (info.batch_size, *size), implicit=implicit), 0


def unsqueeze(info: Batch, in_dims: Dims, self: Any, dim: int) -> tuple[Any, Any]:
    return F.unsqueeze(self, front(dim, logical_ndim(self, 0) + 1)), 0


def squeeze(info: Batch, in_dims: Dims, self: Any) -> tuple[Any, Any]:
    return F.squeeze_dims(
        self, tuple([dim for dim, n in enumerate(self.array.shape) if dim and n == 1])
    ), 0


def squeeze_dim(info: Batch, in_dims: Dims, self: Any, dim: int) -> tuple[Any, Any]:
    place = front(dim, logical_ndim(self, 0))
    return F.squeeze_dim(self, place) if logical_ndim(self, 0) else F.alias(self), 0


def squeeze_dims(info: Batch, in_dims: Dims, self: Any, dim: Sequence[int]) -> tuple[Any, Any]:
    ndim = logical_ndim(self, 0)
    places = tuple([front(each, ndim) for each in dim])
    return F.squeeze_dims(self, places) if ndim else F.alias(self), 0


def unbind(info: Batch, in_dims: Dims, self: Any, dim: int = 0) -> tuple[Any, Any]:
    ndim = logical_ndim(self, 0)
    if not ndim:
        raise RuntimeError(
            "Dimension specified as 0 but tensor has no dimensions. Give it one: x.reshape(1)."
        )
    return F.unbind(self, front(dim, ndim)), 0


def split(info: Batch, in_dims: Dims, self: Any, split_size: int, dim: int = 0) -> tuple[Any, Any]:
    ndim = logical_ndim(self, 0)
    if not ndim:
        raise RuntimeError(
            "split expects at least a 1-dimensional tensor. Give it a dimension: x.reshape(1)."
        )
    return F.split_Tensor(self, split_size, front(dim, ndim)), 0


def split_with_sizes(
    info: Batch, in_dims: Dims, self: Any, split_sizes: Sequence[int], dim: int = 0
) -> tuple[Any, Any]:
    ndim = logical_ndim(self, 0)
    if not ndim:
        raise RuntimeError(
            "split expects at least a 1-dimensional tensor. Give it a dimension: x.reshape(1)."
        )
    return F.split_with_sizes(self, split_sizes, front(dim, ndim)), 0


def diagonal(
    info: Batch, in_dims: Dims, self: Any, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> tuple[Any, Any]:
    ndim = logical_ndim(self, 0)
    return F.diagonal(self, offset, front(dim1, ndim), front(dim2, ndim)), 0


def as_strided(
    info: Batch,
    in_dims: Dims,
    self: Any,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> tuple[Any, Any]:
    """Strides are those of each sample; an offset is that of the first sample, as in PyTorch."""
    if len(size) != len(stride):
        raise RuntimeError(
            "Tensor.as_strided(size, stride, ...): size and stride must have the same length! Got "
            f"size {list(size)} and stride {list(stride)}"
        )
    start = self.storage_offset()
    offset = start if storage_offset is None else storage_offset
    reach, room = extent(size, stride), extent(logical_shape(self, 0), self.stride()[1:])
    if reach and min(stride, default=0) >= 0 and not start <= offset <= start + room - reach:
        raise RuntimeError(
            f"result = tensor.as_strided({list(size)}, {list(stride)}, {offset}) can access memory "
            "outside of `tensor`. `result` can access some memory in range "
            f"[{offset}, {offset + reach}], but `tensor` can only access some memory in range "
            f"[{start}, {start + room}]. This is not supported inside of vmap, please try to "
            "rewrite the `as_strided` call as a sequence of PyTorch view operations"
        )
    return F.as_strided(
        self, (info.batch_size, *size), (self.stride(0), *stride), storage_offset
    ), 0


def alias(info: Batch, in_dims: Dims, self: Any) -> tuple[Any, Any]:
    return F.alias(self), 0


def detach(info: Batch, in_dims: Dims, self: Any) -> tuple[Any, Any]:
    return F.detach(self), 0


def view_dtype(info: Batch, in_dims: Dims, self: Any, dtype: Any) -> tuple[Any, Any]:
    if not logical_ndim(self, 0) and dtype.itemsize != self.dtype.itemsize:
        raise RuntimeError(
            f"self.dim() cannot be 0 to view {self.dtype.scalar_name} as {dtype.scalar_name} "
            "(different element sizes)"
        )
    return F.view_dtype(self, dtype), 0


def view_as_real(info: Batch, in_dims: Sequence[int], self: Any) -> tuple[Any, Any]:
    return F.view_as_real(self), 0


def view_as_complex(info: Batch, in_dims: Dims, self: Any) -> tuple[Any, Any]:
    if not logical_ndim(self, 0):
        raise RuntimeError(
            "Input tensor must have one or more dimensions: real and imaginary parts are the last."
        )
    return F.view_as_complex(self), 0


def flip(info: Batch, in_dims: Dims, self: Any, dims: Sequence[int]) -> tuple[Any, Any]:
    ndim = logical_ndim(self, 0)
    places = tuple([front(dim, ndim) for dim in dims])
    return F.flip(self, places) if ndim else F.clone(self), 0


def roll(
    info: Batch, in_dims: Dims, self: Any, shifts: Sequence[int], dims: Sequence[int] = ()
) -> tuple[Any, Any]:
    ndim = logical_ndim(self, 0)
    if dims:
        return F.roll(self, shifts, [front(dim, ndim) for dim in dims]), 0
    shape = self.array.shape
    rolled = F.roll(F.reshape(self, (shape[0], math.prod(shape[1:]))), shifts, [1] * len(shifts))
    return F.reshape(rolled, tuple(shape)), 0


def repeat(info: Batch, in_dims: Dims, self: Any, repeats: Sequence[int]) -> tuple[Any, Any]:
    if len(repeats) < logical_ndim(self, 0):
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            "tensor. Give one "
            "number per dimension."
        )
    return F.repeat(padded(self, 0, len(repeats)), (1, *repeats)), 0


def triangle(op: Operator) -> Rule:
    """Return the rule of ``tril`` or ``triu``."""
    call, name = op.handle, op.base_name

    def apply(info: Batch, in_dims: Dims, self: Any, diagonal: int = 0) -> tuple[Any, Any]:
        if logical_ndim(self, 0) < 2:
            raise RuntimeError(
                f"{name}: input tensor must have at least 2 dimensions. Add one with unsqueeze."
            )
        return call(self, diagonal), 0

    return apply


def diag_embed(
    info: Batch, in_dims: Dims, self: Any, offset: int = 0, dim1: int = -2, dim2: int = -1
) -> tuple[Any, Any]:
    ndim = logical_ndim(self, 0) + 1
    if not ndim - 1:
        wrap_dim(
            dim1, 1
        )  # a sample without dimensions has none to embed: refused as the operator does
    return F.diag_embed(self, offset, front(dim1, ndim), front(dim2, ndim)), 0


def constant_pad_nd(
    info: Batch, in_dims: Dims, self: Any, pad: Sequence[int], value: Scalar = 0
) -> tuple[Any, Any]:
    ndim = logical_ndim(self, 0)
    if len(pad) > 2 * ndim:
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. "
            "Pad length is "
            f"{len(pad)} while the input has {ndim} dimensions."
        )
    return F.constant_pad_nd(self, pad, value), 0


def bordered(
    info: Batch, in_dims: Dims, self: Any, pad: Sequence[int], mode: str
) -> tuple[Any, Any]:
    sources_of(logical_shape(self, 0), tuple(pad), mode)  # errors name the shape of a sample
    return F._bordered(self, pad, mode), 0


def bordered_backward(
    info: Batch,
    in_dims: Dims,
    grad_output: Tensor,
    pad: Sequence[int],
    mode: str,
    input_size: Sequence[int],
) -> tuple[Any, Any]:
    return F._bordered_backward(grad_output, pad, mode, input_size), 0
