"""Tensors side by side, of more dimensions, turned round, repeated over a grid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail_aten._generated import functions as F
from dovetail_aten.kernel_support.dims import check_room, wrap_dim
from dovetail_aten.kernel_support.geometry.broadcasting import broadcast_shapes
from dovetail_kernel import contiguous_format, result_dtype, warn_user_once

from ...typing import Tensor


def atleast_1d(self: Tensor) -> Any:
    """Return `self` with at least one dimension."""
    return self if self.ndim else F.reshape(self, (1,))


def atleast_2d(self: Tensor) -> Any:
    """Return `self` with at least two dimensions: of a vector a row."""
    if self.ndim == 1:
        return F.unsqueeze(self, 0)
    return self if self.ndim else F.reshape(self, (1, 1))


def atleast_3d(self: Tensor) -> Any:
    """Return `self` with at least three dimensions: of a vector a row of numbers, of a matrix one
    of rows of numbers.
    """
    if self.ndim == 0:
        return F.reshape(self, (1, 1, 1))
    if self.ndim == 1:
        return F.unsqueeze(F.unsqueeze(self, 0), -1)
    return F.unsqueeze(self, -1) if self.ndim == 2 else self


def all_atleast_1d(tensors: Sequence[Tensor]) -> list[Any]:
    """Return `tensors` with at least one dimension each."""
    return [atleast_1d(each) for each in tensors]


def all_atleast_2d(tensors: Sequence[Tensor]) -> list[Any]:
    """Return `tensors` with at least two dimensions each."""
    return [atleast_2d(each) for each in tensors]


def all_atleast_3d(tensors: Sequence[Tensor]) -> list[Any]:
    """Return `tensors` with at least three dimensions each."""
    return [atleast_3d(each) for each in tensors]


def column_stack(tensors: Sequence[Tensor]) -> Any:
    """Return `tensors` side by side, vectors as columns."""
    _check_some("column_stack", tensors)
    columns = [F.reshape(each, (each.numel(), 1)) if each.ndim < 2 else each for each in tensors]
    return F.hstack(columns)


def dstack(tensors: Sequence[Tensor]) -> Any:
    """Return `tensors` behind each other, along the third dimension."""
    _check_some("dstack", tensors)
    return F.cat([atleast_3d(each) for each in tensors], 2)


def _check_some(name: str, tensors: Sequence[Tensor]) -> None:
    if not tensors:
        raise RuntimeError(f"{name} expects a non-empty TensorList: give at least one tensor.")


def chunk_cat(tensors: Sequence[Tensor], dim: int, num_chunks: int) -> Any:
    """Return the chunks of `tensors` along `dim`, those of the same number side by side.

    Each tensor is padded with zeros to a multiple of `num_chunks`; the dimensions from `dim` on
    become one of chunks and one of all that is in a chunk.
    """
    _check_some("_chunk_cat", tensors)
    if num_chunks < 1:
        raise RuntimeError(f"_chunk_cat expects positive num_chunks, got {num_chunks}.")
    first = tensors[0]
    for each in tensors:
        if each.numel() == 0:
            raise RuntimeError("_chunk_cat expects non-empty tensor: leave out those of none.")
        if each.dtype is not first.dtype or each.device != first.device:
            raise RuntimeError(
                "_chunk_cat expects all input tensors with the same dtype and device. Convert them."
            )
    place = wrap_dim(dim, first.ndim)
    for each in tensors:
        if each.ndim <= place:
            raise RuntimeError(f"_chunk_cat expects dim < dim of each tensor, but got dim {dim}.")
        if tuple(each.shape[:place]) != tuple(first.shape[:place]):
            raise RuntimeError(
                "_chunk_cat expects same sizes of 0,...,dim-1 dimensions for all tensors. Reshape "
                "them."
            )
    return F.cat([_chunks(each, place, num_chunks) for each in tensors], place + 1)


def _chunks(tensor: Tensor, dim: int, count: int) -> Any:
    """Return a tensor padded to `count` chunks along `dim`, each made one dimension."""
    missing = -tensor.shape[dim] % count
    if missing:
        tensor = F.constant_pad_nd(tensor, [0, 0] * (tensor.ndim - 1 - dim) + [0, missing], 0)
    return F.reshape(tensor, (*tensor.shape[:dim], count, -1))


def block_diag(tensors: Sequence[Tensor]) -> Any:
    """Return a matrix with `tensors` along its diagonal, and zeros elsewhere."""
    if not tensors:
        return F.zeros([1, 0])
    for number, each in enumerate(tensors):
        if each.ndim > 2:
            raise RuntimeError(
                "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input "
                f"{number} has {each.ndim} dimensions. Flatten it."
            )
    dtype = result_dtype(
        [each.dtype for each in tensors if each.ndim],
        [each.dtype for each in tensors if not each.ndim],
    )
    blocks = [atleast_2d(F.to(each, dtype=dtype)) for each in tensors]
    width, before, rows = sum([block.shape[1] for block in blocks]), 0, []
    if blocks[0].device.type != "meta":
        check_room(sum([block.shape[0] for block in blocks]) * width, dtype.itemsize)
    for block in blocks:
        own = block.shape[1]
        rows.append(F.constant_pad_nd(block, [before, width - before - own], 0))
        before += own
    return F.cat(rows, 0)


def meshgrid_by_rows(tensors: Sequence[Tensor]) -> list[Any]:
    """Return `meshgrid` with ``indexing="ij"``."""
    warn_user_once(
        "dovetail.meshgrid: in an upcoming release, it will be required to pass the indexing "
        'argument. Pass indexing="ij" for this order, indexing="xy" for NumPy\'s.'
    )
    return meshgrid(tensors, indexing="ij")


def meshgrid(tensors: Sequence[Tensor], *, indexing: str) -> list[Any]:
    """Return each of `tensors`, vectors, repeated over the grid of all of them.

    Parameters
    ----------
    indexing
        ``"ij"``: dimension d is that of tensor d; ``"xy"``: the first two change places.
    """
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList: give at least one tensor.")
    for each in tensors:
        if each.ndim > 1:
            raise RuntimeError(
                "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: a tensor of "
                f"{each.ndim} dimensions. Flatten it."
            )
        if each.dtype is not tensors[0].dtype:
            raise RuntimeError(
                "torch.meshgrid expects all tensors to have the same dtype. Convert them."
            )
        if each.device != tensors[0].device:
            raise RuntimeError(
                "torch.meshgrid expects all tensors to have the same device. Move them."
            )
    if indexing not in ("ij", "xy"):
        raise RuntimeError(
            'torch.meshgrid: indexing must be one of "xy" or "ij", but received: ' + indexing
        )
    swap = indexing == "xy" and len(tensors) > 1
    own = [*tensors[1::-1], *tensors[2:]] if swap else tensors
    shape = [each.numel() for each in own]
    grids = [
        F.expand(F.reshape(each, [-1 if d == dim else 1 for d in range(len(shape))]), shape)
        for dim, each in enumerate(own)
    ]
    return [*grids[1::-1], *grids[2:]] if swap else grids


def broadcast_tensors(tensors: Sequence[Tensor]) -> list[Any]:
    """Return `tensors` broadcast to the shape that they have together."""
    shape = broadcast_shapes([tuple(each.shape) for each in tensors])
    return [F.expand(each, shape) for each in tensors]


def fliplr(self: Tensor) -> Any:
    """Return `self` with its columns in the opposite order."""
    if self.ndim < 2:
        raise RuntimeError("Input must be >= 2-d. Add a dimension with unsqueeze.")
    return F.flip(self, [1])


def flipud(self: Tensor) -> Any:
    """Return `self` with its rows in the opposite order."""
    if self.ndim < 1:
        raise RuntimeError("Input must be >= 1-d. Give it a dimension: x.reshape(1).")
    return F.flip(self, [0])


def rot90(self: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Any:
    """Return `self` turned by `k` right angles, from the first of two dimensions to the second."""
    if len(dims) != 2:
        raise RuntimeError(
            f"expected total rotation dims == 2, but got dims = {len(dims)}. Name two."
        )
    if self.ndim < 2:
        raise RuntimeError(
            f"expected total dims >= 2, but got total dims = {self.ndim}. Add one with unsqueeze."
        )
    if dims[0] == dims[1] or abs(dims[0] - dims[1]) == self.ndim:
        raise RuntimeError(
            f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = "
            f"{dims[1]}. Name two dimensions."
        )
    dims = [wrap_dim(dim, self.ndim) for dim in dims]
    match k % 4:
        case 1:
            return F.transpose(F.flip(self, [dims[1]]), dims[0], dims[1])
        case 2:
            return F.flip(self, dims)
        case 3:
            return F.transpose(F.flip(self, [dims[0]]), dims[0], dims[1])
    return F.clone(self, memory_format=contiguous_format)


def ravel(self: Tensor) -> Any:
    """Return the elements of `self` in one dimension: a view if they lie in C order."""
    return F.view(F.contiguous(self), (math.prod(self.shape),))


def diagflat(self: Tensor, offset: int = 0) -> Any:
    """Return a matrix with the elements of `self` on a diagonal."""
    return F.diag(F.view(F.contiguous(self), (math.prod(self.shape),)), offset)
