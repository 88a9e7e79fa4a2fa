"""Views: those of a batch are views too, so that a write to one is seen by the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .._generated import functions as F
from ..kernel_support.checks.copy_checks import check_repeats, padded_shape
from ..kernel_support.checks.view_checks import check_permutation, check_t, expanded_sizes
from ..kernel_support.dims import infer_size, wrap_dim
from ..kernel_support.geometry.border_geometry import sources_of
from ..kernel_support.geometry.view_bounds import extent
from ..typing import Batch, Dims, Scalar
from .table import front, logical_ndim, logical_shape, padded


def view(info: Batch, in_dims: Dims, self: Any, size: Sequence[int]) -> tuple[Any, Any]:
    return F.view(self, (info.batch_size, *infer_size(size, math.prod(logical_shape(self, 0))))), 0


def unsafe_view(info: Batch, in_dims: Dims, self: Any, size: Sequence[int]) -> tuple[Any, Any]:
    return F._unsafe_view(
        self, (info.batch_size, *infer_size(size, math.prod(logical_shape(self, 0))))
    ), 0


def permute(info: Batch, in_dims: Dims, self: Any, dims: Sequence[int]) -> tuple[Any, Any]:
    order = check_permutation(tuple(dims), logical_ndim(self, 0))
    return F.permute(self, [0, *[dim + 1 for dim in order]]), 0


def t(info: Batch, in_dims: Dims, self: Any) -> tuple[Any, Any]:
    ndim = logical_ndim(self, 0)
    check_t(ndim)
    return F.transpose(self, 1, 2) if ndim == 2 else F.alias(self), 0


def expand(
    info: Batch, in_dims: Dims, self: Any, size: Sequence[int], *, implicit: bool = False
) -> tuple[Any, Any]:
    sizes = info.batch_size, *expanded_sizes(tuple(size), logical_shape(self, 0))
    return F.expand(padded(self, 0, len(size)), sizes, implicit=implicit), 0


def unsqueeze(info: Batch, in_dims: Dims, self: Any, dim: int) -> tuple[Any, Any]:
    return F.unsqueeze(self, front(dim, logical_ndim(self, 0) + 1)), 0


def squeeze(info: Batch, in_dims: Dims, self: Any) -> tuple[Any, Any]:
    return F.squeeze_dims(
        self, tuple([dim for dim, n in enumerate(self.array.shape) if dim and n == 1])
    ), 0


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
    check_repeats(repeats, logical_shape(self, 0))
    return F.repeat(padded(self, 0, len(repeats)), (1, *repeats)), 0


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
    padded_shape(logical_shape(self, 0), pad)
    return F.constant_pad_nd(self, pad, value), 0


def bordered(
    info: Batch, in_dims: Dims, self: Any, pad: Sequence[int], mode: str
) -> tuple[Any, Any]:
    sources_of(logical_shape(self, 0), tuple(pad), mode)  # errors name the shape of a sample
    return F._bordered(self, pad, mode), 0
