"""Indexing by arrays over all dimensions: index, index_put, masked_select, take."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from dovetail_dispatcher.calls import broadcast_error
from dovetail_kernel import bool as bool_
from dovetail_kernel import int64, uint8

from ....kernel_support.checks.index_errors import no_place
from ....kernel_support.dims import check_room
from ....kernel_support.family import Family, never_warns, operator
from ....kernel_support.geometry.broadcasting import indexed_order
from ....kernel_support.result_formats import laid_out
from ....typing import Array

_ALL = slice(None)
_OUT_OF_BOUNDS = re.compile(r"index (-?\d+) is out of bounds for axis (\d+) with size (\d+)")


class Indexing(Family):
    """Elements at indices and masks."""

    def _key_of(self, x: Any, indices: Sequence[Any]) -> tuple[Any, ...]:
        """Return the key that the array namespace understands, after checking what it would word
        differently.
        """
        looks = self.lazy or not self.capabilities.checks_bounds
        key: list[Any] = []
        dim = 0
        for position, index in enumerate(indices):
            if index is None:
                key.append(_ALL)
                dim += 1
                continue
            kind = self.dtypes[index.dtype]
            if kind.category > int64.category:
                raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
            if kind is uint8:
                index = index != 0
            if kind is uint8 or kind is bool_:
                if dim + index.ndim > x.ndim:
                    raise self._too_many(x.ndim, dim + index.ndim)
                if tuple(index.shape) != tuple(x.shape[dim : dim + index.ndim]):
                    raise IndexError(
                        f"The shape of the mask {list(index.shape)} at index {position} does not "
                        "match the shape of the "
                        f"indexed tensor {list(x.shape)} at index {dim}"
                    )
                dim += index.ndim
            else:
                if looks and index.size and dim < x.ndim:
                    size = x.shape[dim]
                    index = self.checked_places(index, -size, size, partial(_beyond, dim, size))
                dim += 1
            key.append(index)
        if dim > x.ndim:
            raise self._too_many(x.ndim, dim)
        return tuple(key)

    def _too_many(self, ndim: int, got: int) -> IndexError:
        """Return the error for more indices than dimensions."""
        return IndexError(f"too many indices for tensor of dimension {ndim} (got {got})")

    def _worded(self, error: Exception, key: tuple[object, ...]) -> Exception:
        """Return the error of an array namespace in PyTorch's words."""
        found = _OUT_OF_BOUNDS.search(str(error))
        if found:
            return IndexError(
                "index {} is out of bounds for dimension {} with size {}".format(*found.groups())
            )
        shapes = ", ".join([str(list(index.shape)) for index in key if hasattr(index, "shape")])
        if "broadcast" in str(error):
            return IndexError(
                "shape mismatch: indexing tensors could not be broadcast together with shapes "
                f"{shapes}"
            )
        return error

    @operator("index.Tensor")
    @never_warns
    def index(self, x: Array, indices: Sequence[object]) -> Any:
        """Return the elements at `indices`, one index for each dimension; None means the whole
        dimension.
        """
        if not indices:
            raise IndexError("at least one index must be provided")
        key = self._key_of(x, indices)
        if not any([each is not _ALL for each in key]):
            return self.capabilities.clone(x)
        try:
            found = x[key]
        except (IndexError, ValueError) as error:
            raise self._worded(error, key) from None
        return self._laid_out(found, x, key) if found.ndim > 1 else found

    def _laid_out(self, found: Any, x: Any, key: Sequence[Any]) -> Any:
        """Return ``found = x[key]`` with its dimensions in memory as PyTorch has them; an array
        without strides is returned as it is.
        """
        arrays = [each for each in key if not isinstance(each, slice)]
        if not all([hasattr(each, "strides") for each in (found, x, *arrays)]):
            return found
        # A dimension of one element may say another order of arrays that are in C order, too.
        if 1 not in x.shape and all(
            [self.capabilities.is_contiguous(each) for each in (found, x, *arrays)]
        ):
            return found
        indices: dict[int, Any] = {}
        dim = 0
        for each in key:
            if isinstance(each, slice):
                dim += 1
            elif each.dtype == self.xp.bool_:
                # The places that a mask holds are one vector for each of its dimensions.
                indices |= {dim + own: ((), ()) for own in range(each.ndim)}
                dim += each.ndim
            else:
                indices[dim] = (each.shape, self.capabilities.strides(each))
                dim += 1
        if not indices:  # masks without dimensions pick all or nothing
            return found
        dims = sorted(indices)
        first = dims[0] if dims[-1] - dims[0] + 1 == len(dims) else 0
        given = found.shape[first : first + found.ndim - x.ndim + len(dims)]
        for place, (shape, _) in indices.items():
            if not shape:
                indices[place] = (given, [0] * len(given))
        _, order = indexed_order((x.shape, self.capabilities.strides(x)), indices)
        return laid_out(found, order, self.xp, self.capabilities)

    @operator("index_put")
    def index_put(
        self, x: Array, indices: Sequence[object], values: Array, accumulate: bool = False
    ) -> Any:
        """Return a copy with `values` written or added at `indices`; repeated indices add up."""
        if values.dtype != x.dtype:
            raise RuntimeError(
                "Index put requires the source and destination dtypes match, got "
                f"{self.dtypes[x.dtype].scalar_name} for the destination and "
                f"{self.dtypes[values.dtype].scalar_name} for the source."
            )
        key = self._key_of(x, indices)
        # Array namespaces drop leading dimensions of size 1.
        if values.ndim > 1 and values.shape[0] == 1 and values.ndim > self._selected_ndim(x, key):
            raise self._unfitting(x, key, values)
        try:
            return self.capabilities.index_put(x, key, values, accumulate)
        except IndexError as error:
            raise self._worded(error, key) from None
        except ValueError:
            raise self._unfitting(x, key, values) from None

    def _selected_ndim(self, x: Any, key: Sequence[Any]) -> int:
        """Return how many dimensions ``x[key]`` has."""
        ndim, of_indices = x.ndim, 0
        for index in key:
            if index is not _ALL:
                is_mask = index.dtype == self.xp.bool_
                ndim -= index.ndim if is_mask else 1
                of_indices = max(of_indices, 1 if is_mask else index.ndim)
        return int(ndim) + of_indices

    def _unfitting(self, x: Array, key: tuple[object, ...], values: Array) -> Exception:
        """Return the error for values that do not fit the places they are put at."""
        try:
            shape = list(self.index(x, [None if each is _ALL else each for each in key]).shape)
        except IndexError as error:
            return error
        return RuntimeError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to "
            "indexing result of "
            f"shape {shape}"
        )

    @operator("masked_select")
    @never_warns
    def masked_select(self, x: Array, mask: Array) -> Any:
        """Return the elements where `mask` is true, in one dimension."""
        xp = self.xp
        if mask.dtype != xp.bool_:
            raise RuntimeError(
                "masked_select: expected BoolTensor for mask, but got "
                f"{self.dtypes[mask.dtype].scalar_name}. Use mask != 0."
            )
        if x.shape != mask.shape:
            mismatch = broadcast_error([x.shape, mask.shape])
            if mismatch is not None:
                raise mismatch
            x, mask = xp.broadcast_arrays(x, mask)
        check_room(mask.size, 1)
        return x[mask]

    @operator("take")
    def take(self, x: Array, index: Array) -> Any:
        """Return the elements at `index` of the flattened array."""
        xp = self.xp
        if self.dtypes[index.dtype] is not int64:
            raise RuntimeError(
                "take(): Expected a long tensor for index, but got "
                f"{self.dtypes[index.dtype].scalar_name}"
            )
        size = x.size
        index = self.checked_places(index, -size, size, partial(no_place, size))
        return xp.take(xp.reshape(x, (-1,)), index, axis=0)


def _beyond(dim: int, size: int, index: Array) -> Exception:
    return IndexError(f"index {int(index)} is out of bounds for dimension {dim} with size {size}")
