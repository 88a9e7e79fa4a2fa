"""Windows of a dimension, and the copies of an array in which a part is replaced."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...kernel_support.checks.view_checks import (
    check_diagonal,
    check_select,
    check_slice,
    diagonal_length,
)
from ...kernel_support.dims import wrap_dim
from ...kernel_support.family import Family, operator
from ...kernel_support.geometry.memory_layout import inverse
from ...kernel_support.geometry.view_bounds import check_view_bounds, extent, shares_places
from ...kernel_support.operands import discard_imaginary
from ...typing import Array

_ALL = slice(None)


def window_count(size_along: int, dim: int, size: int, step: int) -> int:
    """Return how many windows of `size` elements, `step` apart, a dimension has.

    Raises
    ------
    RuntimeError
        If it has none, or there is no such size or step.
    """
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0. Give the length of a window.")
    if size > size_along:
        raise RuntimeError(
            f"maximum size for tensor at dimension {dim} is {size_along} but size is {size}. Take "
            "smaller windows."
        )
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0. Give the distance of two windows.")
    return (size_along - size) // step + 1


def check_source(src: Any, shape: Sequence[int]) -> None:
    """Raise an error for values that do not have the shape of the part to replace. Raises
    RuntimeError with PyTorch's message.
    """
    if tuple(src.shape) != tuple(shape):
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. src size = "
            f"{list(src.shape)}, slice size = {list(shape)}. Reshape or expand src."
        )


class Windows(Family):
    """Windows of a dimension, and arrays with a replaced part."""

    @operator("unfold")
    def unfold(self, x: Any, dimension: int, size: int, step: int) -> Any:
        """Return a view of all windows of `size` elements along `dimension`, `step` apart; the
        elements of a window become the last dimension.
        """
        axis = wrap_dim(dimension, x.ndim)
        if not x.ndim:
            x = x[None]
            return x[: window_count(1, axis, size, step), None][:, :size][0]
        count = window_count(x.shape[axis], axis, size, step)
        shape, strides = list(x.shape), list(self.capabilities.strides(x))
        shape[axis] = count
        own = strides[axis]
        strides[axis] = own * step
        offset = self.capabilities.storage_offset(x)
        return self.capabilities.as_strided(x, (*shape, size), (*strides, own), offset)

    @operator("unfold_backward")
    def unfold_backward(
        self, grad_in: Array, input_sizes: Sequence[int], dim: int, size: int, step: int
    ) -> Any:
        """Return the gradient of `unfold`: the sum over the windows of each element."""
        xp = self.xp
        if not input_sizes:
            return xp.reshape(self.unfold_backward(grad_in[None], (1,), dim, size, step), ())
        zeros = xp.zeros(tuple(input_sizes), dtype=grad_in.dtype)
        axis = wrap_dim(dim, len(input_sizes))
        shape = [*input_sizes, size]
        shape[axis] = window_count(input_sizes[axis], axis, size, step)
        if list(grad_in.shape) != shape:
            raise RuntimeError(
                f"unfold_backward: a gradient of shape {list(grad_in.shape)} for windows of shape "
                f"{shape}. Give one of that shape."
            )
        others = [dim for dim in range(grad_in.ndim - 1) if dim > axis]
        by_window = grad_in.transpose((*range(axis + 1), grad_in.ndim - 1, *others))
        count = by_window.shape[axis]
        places = xp.arange(count)[:, None] * step + xp.arange(size)
        rows = xp.reshape(
            by_window, (*by_window.shape[:axis], count * size, *by_window.shape[axis + 2 :])
        )
        return self.capabilities.index_add(zeros, axis, xp.reshape(places, (-1,)), rows)

    def _with(self, x: Array, key: tuple[object, ...], src: Array) -> Any:
        """Return a copy of `x` with `src` at ``[key]``."""
        if src.dtype != x.dtype:
            is_narrower = self.dtypes[src.dtype].is_complex and not self.dtypes[x.dtype].is_complex
            src = (discard_imaginary(src) if is_narrower else src).astype(x.dtype)
        return self.capabilities.index_put(x, key, src, False)

    @operator("select_scatter")
    def select_scatter(self, x: Array, src: Array, dim: int, index: int) -> Any:
        """Return a copy with `src` in the slice `index` along `dim`."""
        axis = check_select(x.shape, dim, index, " Use clone() of src.")
        check_source(src, (*x.shape[:axis], *x.shape[axis + 1 :]))
        return self._with(x, (_ALL,) * axis + (index,), src)

    @operator("slice_scatter")
    def slice_scatter(
        self,
        x: Array,
        src: Array,
        dim: int = 0,
        start: int | None = None,
        end: int | None = None,
        step: int = 1,
    ) -> Any:
        """Return a copy with `src` in ``[start:end:step]`` along `dim`."""
        axis = check_slice(x.ndim, dim, step, " Use clone() of src.")
        part = slice(start, end, step)
        length = len(range(x.shape[axis])[part])
        check_source(src, (*x.shape[:axis], length, *x.shape[axis + 1 :]))
        return self._with(x, (_ALL,) * axis + (part,), src)

    @operator("diagonal_scatter")
    def diagonal_scatter(
        self, x: Array, src: Array, offset: int = 0, dim1: int = 0, dim2: int = 1
    ) -> Any:
        """Return a copy with `src` on a diagonal."""
        xp = self.xp
        first, second = check_diagonal(x.ndim, dim1, dim2)
        order = [dim for dim in range(x.ndim) if dim not in (first, second)] + [first, second]
        moved = x.transpose(order)
        rows, columns = moved.shape[-2:]
        count = diagonal_length(rows, columns, offset)
        check_source(src, (*moved.shape[:-2], count))
        places = xp.arange(count)
        key = (..., places - min(offset, 0), places + max(offset, 0))
        return self._with(moved, key, src).transpose(inverse(order))

    @operator("as_strided_scatter")
    def as_strided_scatter(
        self,
        x: Any,
        src: Any,
        size: Sequence[int],
        stride: Sequence[int],
        storage_offset: int | None = None,
    ) -> Any:
        """Return a copy with `src` in the part of memory with these sizes, strides and offset."""
        xp, capabilities = self.xp, self.capabilities
        if shares_places(x.shape, capabilities.strides(x)):
            x = capabilities.contiguous(x)
        own, begin = self._checked_part(x, src, size, stride, storage_offset)
        if not x.size:
            return capabilities.clone(x)
        strides = capabilities.strides(x)
        length = max(own + extent(x.shape, strides), begin + extent(size, stride))
        memory, line = xp.zeros(length, dtype=x.dtype), xp.arange(length)
        places = capabilities.as_strided(line, x.shape, strides, own)
        memory = capabilities.index_put(memory, (places,), x, False)
        if math.prod(size):
            written = capabilities.as_strided(line, size, stride, begin)
            memory = self._with(memory, (written,), src)
        return xp.reshape(xp.take(memory, places, axis=0), x.shape)

    def _checked_part(
        self,
        x: Array,
        src: Array,
        size: Sequence[int],
        stride: Sequence[int],
        storage_offset: int | None,
    ) -> tuple[int, int]:
        """Return where in its memory `x` begins, and where the part that `src` is written to."""
        start, stop = self.capabilities.memory_bounds(x)
        own = self.capabilities.storage_offset(x)
        begin = own if storage_offset is None else storage_offset
        check_view_bounds(size, stride, begin, x.dtype.itemsize, stop - start)
        check_source(src, size)
        return own, begin
