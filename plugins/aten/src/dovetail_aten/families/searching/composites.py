"""Buckets, repetitions and reductions of segments in terms of others."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from dovetail_aten._generated import functions as F
from dovetail_kernel import bool as bool_
from dovetail_kernel import int32, int64

from ...composites.value_checks import checked
from ...kernel_support.dims import wrap_dim
from ...typing import Scalar, Tensor

REDUCTIONS = {
    "sum": ("sum", 0.0),
    "mean": ("sum", 0.0),
    "amax": ("amax", -math.inf),
    "amin": ("amin", math.inf),
    "max": ("amax", -math.inf),
    "min": ("amin", math.inf),
    "prod": ("prod", 1.0),
}
"""What a reduction of segments is called elsewhere, and what it makes of nothing."""


def bucketize(
    self: Tensor, boundaries: Tensor, *, out_int32: bool = False, right: bool = False
) -> Any:
    """Return the number of the bucket between `boundaries` that each element is in."""
    _check_boundaries(boundaries)
    return F.searchsorted_Tensor(boundaries, self, out_int32=out_int32, right=right)


def bucketize_number(
    self: Scalar, boundaries: Tensor, *, out_int32: bool = False, right: bool = False
) -> Any:
    """Return the number of the bucket between `boundaries` that a number is in."""
    _check_boundaries(boundaries)
    return F.searchsorted_Scalar(boundaries, self, out_int32=out_int32, right=right)


def rows_to_pointers(self: Tensor, size: int, *, out_int32: bool = False) -> Any:
    """Where each of `size` rows begins among the sorted row indices of elements, and the end."""
    if self.ndim != 1:
        raise RuntimeError(
            f"Input is supposed to be a vector, but got {self.ndim} dimensional tensor."
        )
    _check_whole(self)
    rows = F.arange(size + 1, dtype=self.dtype, device=self.device)
    return F.searchsorted(self, rows, out_int32=out_int32)


def pointers_to_coordinates(
    crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False, transpose: bool = False
) -> Any:
    """Rows and columns of the elements of a matrix in compressed rows; turned, columns and rows."""
    if crow_indices.ndim != 1 or col_indices.ndim != 1:
        raise RuntimeError("crow_indices and col_indices must be vectors: one matrix.")
    _check_whole(crow_indices)
    places = F.arange(col_indices.shape[0], dtype=crow_indices.dtype, device=crow_indices.device)
    rows = F.searchsorted(crow_indices, places, out_int32=out_int32, right=True) - 1
    columns = col_indices.to(rows.dtype)
    return F.stack([columns, rows] if transpose else [rows, columns])


def _check_whole(indices: Tensor) -> None:
    if indices.is_floating_point() or indices.is_complex() or indices.dtype is bool_:
        raise NotImplementedError(
            f'"convert_indices" not implemented for {indices.dtype}. Indices are integers.'
        )


def _check_boundaries(boundaries: Tensor) -> None:
    if boundaries.ndim != 1:
        raise RuntimeError(
            f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim}). Use "
            "searchsorted, which takes a sequence for each row."
        )


# -- repetitions -----------------------------------------------------------------------------------


def repeat_interleave(
    self: Tensor, repeats: Tensor, dim: int | None = None, *, output_size: int | None = None
) -> Any:
    """Return slices along a dimension one after another, each as often as `repeats` says."""
    if repeats.ndim > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor. Flatten it.")
    if dim is None:
        self, dim = F.reshape(self, (-1,)), 0
    if not self.ndim:
        raise IndexError(
            f"Dimension specified as {dim} but tensor has no dimensions. Leave out dim."
        )
    axis = wrap_dim(dim, self.ndim)
    size = self.shape[axis]
    if repeats.ndim == 0 or (repeats.ndim == 1 and repeats.shape[0] == 1):
        repeats = F.expand(F.reshape(repeats, (1,)), (size,))
    elif repeats.ndim == 1 and repeats.shape[0] != size:
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{repeats.shape[0]} and input.size({axis}) = {size}"
        )
    places = F.repeat_interleave_Tensor(repeats, output_size=output_size)
    return F.index_select(self, axis, places)


def repeat_interleave_evenly(
    self: Tensor, repeats: int, dim: int | None = None, *, output_size: int | None = None
) -> Any:
    """Return slices along a dimension one after another, each `repeats` times."""
    if repeats < 0:
        raise RuntimeError(f"Repeats must be non-negative, but are {repeats}.")
    if dim is None:
        self, dim = F.reshape(self, (-1,)), 0
    axis = wrap_dim(dim, self.ndim)
    if not self.ndim:
        self = F.reshape(self, (1,))
    size = self.shape[axis] * repeats
    if output_size is not None and output_size != size:
        raise RuntimeError(
            f"repeat_interleave: Invalid output_size, expected {size} but got {output_size}"
        )
    shape = [*self.shape[: axis + 1], repeats, *self.shape[axis + 1 :]]
    spread = F.clone(F.expand(F.unsqueeze(self, axis + 1), shape))
    return F.reshape(spread, (*self.shape[:axis], size, *self.shape[axis + 1 :]))


# -- segments --------------------------------------------------------------------------------------


def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: object = None,
) -> Any:
    """Return a reduction of each segment along a dimension, of the given lengths, or between
    offsets.
    """
    axis = wrap_dim(axis, data.ndim)
    if reduce not in REDUCTIONS:
        raise RuntimeError(
            "reduce argument must be either sum, prod, mean, amax or amin, got " + repr(reduce)
        )
    if not data.dtype.is_floating_point:
        raise NotImplementedError(
            f"\"_segment_reduce_cpu\" not implemented for '{data.dtype.scalar_name}'. Convert to a "
            "floating-point dtype."
        )
    if indices is not None:
        raise RuntimeError(
            "segment_reduce(): indices based reduction is not supported yet. Use scatter_reduce."
        )
    if offsets is None and lengths is None:
        raise RuntimeError(
            "segment_reduce(): Either lengths or offsets must be defined. Give lengths=."
        )
    if offsets is not None:
        _check_segments(data, "offsets", offsets, axis)
        offsets = offsets if unsafe else _offsets(offsets, data.shape[axis])
        lengths = F.diff(offsets)
        begin = F.narrow(offsets, -1, 0, 1)
    else:
        _check_segments(data, "lengths", lengths, axis)
        lengths = lengths if unsafe else _lengths(lengths, data.shape[axis])
        begin = None
    return _reduced_segments(data, reduce, lengths, begin, axis, initial)


def _check_segments(data: Tensor, name: str, bounds: Any, axis: int) -> None:
    """Raise an error for bounds of segments that do not match the data."""
    if bounds.dtype not in (int32, int64):
        raise NotImplementedError(
            f'"_segment_reduce_{name}_cpu_kernel1" not implemented for '
            f"'{bounds.dtype.scalar_name}'. Convert to int64."
        )
    if bounds.ndim > data.ndim:
        raise RuntimeError(
            f"segment_reduce(): Expected data.dim() >= {name}.dim(), but got {data.ndim} and "
            f"{bounds.ndim}."
        )
    if bounds.ndim - 1 != axis:
        raise RuntimeError(
            f"segment_reduce(): Expected axis to be the last dimension of {name} but got {axis}."
        )


def _lengths(lengths: Any, size: int) -> Any:
    """Return lengths, after refusing those that are none, or are not those of all elements."""
    lengths = checked(lengths, lambda: F.ge(lengths, 0), _negative)
    return checked(
        lengths, lambda: F.eq(F.sum(lengths, (-1,), True), size), partial(_not_of_all, size)
    )


def _negative(_length: object) -> Exception:
    return RuntimeError("lengths contains negative value!")


def _not_of_all(size: int, _length: object) -> Exception:
    return RuntimeError(
        "segment_reduce(): Expected all rows of lengths along axis to sum to "
        f"data.size(lengths.dim()-1) when !unsafe: that is {size}."
    )


def _offsets(offsets: Tensor, size: int) -> Any:
    """Return offsets, after refusing those that descend or leave the elements."""

    def right() -> Any:
        inside = F.logical_and(F.ge(offsets, 0), F.le(offsets, size))
        return F.logical_and(inside, F.ge(F.diff(offsets, prepend=F.narrow(offsets, -1, 0, 1)), 0))

    return offsets if not offsets.numel() else checked(offsets, right, partial(_descending, size))


def _descending(size: int, offset: Any) -> Exception:
    return RuntimeError(
        f"segment_reduce(): offsets go from 0 to {size} and never descend, but they have "
        f"{int(offset)} out of order. Mend them."
    )


def _reduced_segments(
    data: Any, reduce: str, lengths: Any, begin: Any, axis: int, initial: Any
) -> Any:
    count = lengths.shape[-1]
    ends = F.cumsum(lengths, -1)
    ends = ends if begin is None else F.add(ends, begin)
    places = F.expand(F.arange(data.shape[axis], device=data.device), (*lengths.shape[:-1], -1))
    # The segment of each element; what lies behind the last one goes into one that is left out.
    segments = F.searchsorted_Tensor(ends, F.contiguous(places), right=True)
    if begin is not None:
        segments = F.where(F.lt(places, begin), count, segments)
    inner = data.ndim - axis - 1
    index = F.reshape(segments, (*segments.shape, *([1] * inner)))
    shape = [count + 1 if dim == axis else size for dim, size in enumerate(data.shape)]
    name, nothing = REDUCTIONS[reduce]
    start = nothing if initial is None else initial

    def reduced(name: str, start: Any, data: Any) -> Any:
        index_of_all = F.expand(index, data.shape)
        return F.scatter_reduce(F.new_full(data, shape, start), axis, index_of_all, data, name)

    if name == "sum" or not data.requires_grad:
        made = reduced(name, start, data)
    else:
        # Elements that are NaN have the gradient of an extreme one, or of one factor.
        is_nan = F.isnan(data)
        nans, counts = (
            reduced("sum", 0.0, each) for each in (F.where(is_nan, data, 0.0), F.to(is_nan, data))
        )
        rest = reduced(name, start, F.masked_fill(data, is_nan, nothing))
        of_several = F.masked_fill(counts, F.gt(counts, 1), math.nan)
        of_product = F.mul(F.mul(rest, nans), of_several)
        of_nans = of_product if name == "prod" else F.div(nans, F.clamp_min(counts, 1))
        made = F.where(F.gt(counts, 0), of_nans, rest)
    made = F.contiguous(F.narrow(made, axis, 0, count))
    if reduce != "mean":
        return made
    sizes = F.reshape(lengths, (*lengths.shape, *([1] * inner)))
    if initial is None:
        return F.div(made, sizes)
    return F.div(made, F.clamp_min(sizes, 1))
