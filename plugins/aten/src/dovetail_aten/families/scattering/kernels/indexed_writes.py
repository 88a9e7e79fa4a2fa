"""Copies of an array with other elements at indices along one dimension, at masks, or at indices
over all dimensions: index_fill, index_copy, masked_scatter, put.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from dovetail_kernel import bool as bool_
from dovetail_kernel import int64

from ....kernel_support.checks.index_errors import no_place
from ....kernel_support.dims import wrap_dim
from ....kernel_support.family import Family, operator
from ....kernel_support.geometry.broadcasting import broadcast_shapes
from ....typing import Array

_ALL = slice(None)


class IndexedWrites(Family):
    """Arrays with some elements replaced."""

    @operator("index_fill.int_Scalar", "index_fill.int_Tensor")
    def index_fill(self, x: Array, dim: int, index: Array, value: Any) -> Any:
        """Return a copy with `value` for the slices at `index` along `dim`."""
        if self.dtypes[index.dtype] is not int64:
            raise IndexError("index_fill_(): Expected dtype int64 for index. Convert it: x.long().")
        if index.ndim > 1:
            raise RuntimeError(f"Index has to be a vector/scalar, but has {index.ndim} dimensions.")
        axis = wrap_dim(dim, x.ndim)
        if hasattr(value, "dtype"):
            if value.ndim:
                raise RuntimeError(
                    "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                    f"{value.ndim} dimension(s). Use index_copy."
                )
            if self.dtypes[value.dtype].is_complex and not self.dtypes[x.dtype].is_complex:
                raise RuntimeError(_complex_value())
            value = value.astype(x.dtype)
        elif isinstance(value, complex) and not self.dtypes[x.dtype].is_complex:
            raise RuntimeError(_complex_value())
        else:
            value = self.numbers.fitting(x, value)
        size = x.shape[axis] if x.ndim else 1
        index = self.checked_places(index, -size, size, partial(_beyond, "", axis, size))
        index = self.xp.reshape(index, (-1,))
        if not x.ndim:
            whole = self.capabilities.index_put(self.xp.reshape(x, (1,)), (index,), value, False)
            return self.xp.reshape(whole, ())
        return self.capabilities.index_put(x, (_ALL,) * axis + (index,), value, False)

    @operator("index_copy")
    def index_copy(self, x: Array, dim: int, index: Array, source: Array) -> Any:
        """Return a copy with the slices of `source` at `index` along `dim`."""
        axis = wrap_dim(dim, x.ndim)
        check_index_copy(x, axis, index, source, self.dtypes)
        size = x.shape[axis] if x.ndim else 1
        index = self.checked_places(index, 0, size, partial(_beyond, "index_copy_(): ", axis, size))
        index = self.xp.reshape(index, (-1,))
        if not x.ndim:
            made = self.capabilities.index_put(
                self.xp.reshape(x, (1,)), (index,), self.xp.reshape(source, (-1,)), False
            )
            return self.xp.reshape(made, ())
        if not source.ndim:
            source = self.xp.reshape(source, (1,) * x.ndim)
        x = self.capabilities.contiguous(x)
        return self.capabilities.index_put(x, (_ALL,) * axis + (index,), source, False)

    @operator("masked_scatter")
    def masked_scatter(self, x: Array, mask: Array, source: Array) -> Any:
        """Return a copy with elements of `source`, in order, where `mask` is true."""
        xp = self.xp
        check_masked_scatter(x, mask, source, self.dtypes)
        shape = broadcast_shapes([x.shape, mask.shape])
        if x.shape != shape or mask.shape != shape:
            x, mask = xp.broadcast_arrays(x, mask)
        if not source.size:
            x = self.checked(x, ~mask, partial(too_few, 0))
            return self.capabilities.clone(self.capabilities.contiguous(x))
        count = xp.cumsum(xp.reshape(mask, (-1,)), dtype=xp.int64)
        count = self.checked(count, count <= source.size, partial(too_few, source.size))
        places = xp.maximum(count - 1, 0)
        chosen = xp.reshape(xp.take(xp.reshape(source, (-1,)), places, axis=0), shape)
        return self.capabilities.contiguous(xp.where(mask, chosen, x))

    @operator("put")
    def put(self, x: Array, index: Array, source: Array, accumulate: bool = False) -> Any:
        """Return a copy with the elements of `source` written or added at `index` of the flattened
        array.
        """
        xp = self.xp
        check_put(x, index, source, self.dtypes)
        size = x.size
        index = self.checked_places(index, -size, size, partial(no_place, size))
        if not index.size:
            return self.capabilities.clone(x)
        places, values = xp.reshape(index, (-1,)), xp.reshape(source, (-1,))
        rest = xp.where(places < 0, places + size, places)
        key: list[Any] = []
        for length in x.shape[:0:-1]:
            key.append(xp.remainder(rest, length))
            rest = xp.floor_divide(rest, length)
        # What is left counts the first dimension.
        base = x if x.ndim else xp.reshape(x, (1,))
        made = self.capabilities.index_put(base, (rest, *key[::-1]), values, accumulate)
        return made if x.ndim else xp.reshape(made, ())


def _complex_value() -> str:
    return (
        "index_fill_(): Converting complex Scalar to non-complex type is not supported. Take the "
        "real part."
    )


def _beyond(name: str, axis: int, size: int, index: Array) -> Exception:
    return IndexError(
        f"{name}index {int(index)} is out of bounds for dimension {axis} with size {size}"
    )


def too_few(size: int, _count: object) -> Exception:
    return RuntimeError(
        f"Number of elements of source < number of ones in mask: source has only {size}. Give one "
        "for every true element of the mask."
    )


def check_index_copy(x: Any, axis: int, index: Any, source: Any, dtypes: Any) -> None:
    """Raise an error for values that cannot be copied to slices: incompatible shapes and dtypes.

    Parameters
    ----------
    x, index, source
        Arrays, also of the meta device.
    axis
        The dimension of the slices.
    dtypes
        The dtype of each dtype of the arrays.
    """
    if index.ndim > 1:
        raise IndexError(
            f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim}). Flatten it."
        )
    if not source.ndim and index.size != 1:
        raise IndexError(
            "index_copy_(): When source is scalar, index should have one element (got "
            f"{index.size}). Use index_fill."
        )
    if source.ndim and x.ndim and source.ndim != x.ndim:
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must "
            f"match. Source dimensionality ({source.ndim}), destination dimensionality ({x.ndim})"
        )
    if dtypes[index.dtype] is not int64:
        raise RuntimeError(
            "index_copy_(): Expected a long tensor for index, but got "
            f"{dtypes[index.dtype].scalar_name}. Convert it: index.long()."
        )
    if source.dtype != x.dtype:
        raise RuntimeError(
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{dtypes[x.dtype].scalar_name} and (source) {dtypes[source.dtype].scalar_name}. "
            "Convert one."
        )
    own = [*x.shape[:axis], *x.shape[axis + 1 :]]
    other = [*source.shape[:axis], *source.shape[axis + 1 :]]
    if own != other:
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination "
            f"slice shape: {' '.join(map(str, own))} at dimension {axis} and source slice shape: "
            f"{' '.join(map(str, other))} at dimension {axis}."
        )
    along = source.shape[axis] if source.ndim else 1
    if index.size != along:
        raise IndexError(
            f"index_copy_(): Number of indices ({index.size}) should be equal to source.size(dim) "
            f"({along})"
        )


def check_masked_scatter(x: Any, mask: Any, source: Any, dtypes: Any) -> None:
    """Raise an error for masks and sources of wrong dtypes. Parameters as `check_index_copy`."""
    if dtypes[mask.dtype] is not bool_:
        raise RuntimeError(
            "masked_scatter_ only supports boolean masks, but got mask with dtype "
            f"{dtypes[mask.dtype].scalar_name}. Use mask != 0."
        )
    if x.dtype != source.dtype:
        raise RuntimeError(
            "masked_scatter: expected self and source to have same dtypes but got "
            f"{dtypes[x.dtype].scalar_name} and {dtypes[source.dtype].scalar_name}. Convert one."
        )


def check_put(x: Any, index: Any, source: Any, dtypes: Any) -> None:
    """Raise an error for indices and sources that are incompatible. Parameters as
    `check_index_copy`.
    """
    if dtypes[index.dtype] is not int64:
        raise RuntimeError(
            "put_(): Expected a long tensor for index, but got "
            f"{dtypes[index.dtype].scalar_name}. Convert it: index.long()."
        )
    if source.dtype != x.dtype:
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got self.dtype = "
            f"{dtypes[x.dtype].scalar_name} and source.dtype = "
            f"{dtypes[source.dtype].scalar_name}. Convert one."
        )
    if math.prod(source.shape) != math.prod(index.shape):
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got "
            f"source.numel() = {math.prod(source.shape)}, index.numel() = "
            f"{math.prod(index.shape)}"
        )
    if not math.prod(x.shape) and math.prod(index.shape):
        raise IndexError(
            "put_(): Tried to put elements into an empty tensor. Leave the index empty, too."
        )
