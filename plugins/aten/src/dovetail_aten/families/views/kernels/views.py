"""Views: other shapes and parts of the same memory.

Every result shares memory with its argument, down to 0-d.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

from dovetail_dispatcher.calls import broadcast_error, broadcast_shape, shape_of_output_error

from ....kernel_support.checks.view_checks import (
    check_diagonal,
    check_permutation,
    check_select,
    check_slice,
    check_split,
    check_split_sizes,
    check_t,
    expanded_sizes,
    incompatible_view,
)
from ....kernel_support.dims import (
    check_room,
    check_size,
    clamp_diagonal,
    infer_size,
    wrap_dim,
    wrap_dims,
)
from ....kernel_support.family import Family, helper, operator
from ....kernel_support.geometry.memory_layout import unsqueezed_strides
from ....typing import Array

_ALL = slice(None)
_BYTES_OF_VIEW = 120


class Views(Family):
    """Views in another shape, and views of parts."""

    @operator("view")
    def view(self, x: Any, size: Sequence[int]) -> Any:
        """Return a view with another shape and the same number of elements; the strides must allow
        it.
        """
        shape = infer_size(size, x.size)
        result = self.capabilities.view(x, shape)
        if result is None:
            raise incompatible_view()
        return result

    @operator("_unsafe_view")
    @helper("reshape")
    def reshape(self, x: Array, shape: Sequence[int]) -> Any:
        """Return `x` in another shape: a view, or a copy if its strides do not allow a view."""
        shape = tuple(shape)
        if -1 in shape or math.prod(shape) != x.size:
            shape = infer_size(shape, x.size)
        return self.xp.reshape(x, shape)

    @operator("expand")
    def expand(self, x: Array, size: Sequence[int], *, implicit: bool = False) -> Any:
        """Return a view broadcast to `size`; -1 keeps a size."""
        shape = tuple(size)
        if shape == x.shape:
            return x
        sizes = expanded_sizes(shape, x.shape)
        try:
            return self.capabilities.expand(x, sizes)
        except ValueError:  # of more bytes than an array can have
            check_size(sizes, x.dtype.itemsize)
            raise

    @operator("unsqueeze")
    def unsqueeze(self, x: Array, dim: int) -> Any:
        """Return a view with a new dimension of size 1 at `dim`."""
        rule = partial(unsqueezed_strides, wrap_dim(dim, x.ndim + 1))
        return self.capabilities.with_strides(x[_with_new(dim, x.ndim)], rule, x)

    @operator("squeeze", "squeeze.dim", "squeeze.dims")
    def squeeze(self, x: Array, dim: int | Sequence[int] | None = None) -> Any:
        """Return a view without dimensions of size 1: all of them, or those of `dim`."""
        if dim is None:
            return x[_without_ones(x.shape)]
        return x[_without_some(x.shape, dim if isinstance(dim, int) else tuple(dim))]

    @operator("permute")
    def permute(self, x: Array, dims: Sequence[int]) -> Any:
        """Return a view with the dimensions in the order `dims`."""
        return x.transpose(check_permutation(tuple(dims), x.ndim))

    @operator("transpose.int")
    def transpose(self, x: Array, dim0: int, dim1: int) -> Any:
        """Return a view with two dimensions swapped."""
        ndim = x.ndim
        if not (-ndim <= dim0 < ndim and -ndim <= dim1 < ndim):
            wrap_dim(dim0, ndim), wrap_dim(dim1, ndim)
            return x
        return x.swapaxes(dim0, dim1)

    @operator("t")
    def t(self, x: Array) -> Any:
        """Return the transpose of a matrix, or a vector or 0-d array itself."""
        check_t(x.ndim)
        return x.T

    @operator("select.int")
    def select(self, x: Array, dim: int, index: int) -> Any:
        """Return a view of the slice `index` along `dim`, without this dimension."""
        axis = check_select(x.shape, dim, index)
        return self._at(x, axis, index % x.shape[axis])

    @operator("slice.Tensor")
    def slice_(
        self,
        x: Array,
        dim: int = 0,
        start: int | None = None,
        end: int | None = None,
        step: int = 1,
    ) -> Any:
        """Return a view of ``[start:end:step]`` along `dim`."""
        return self._part(x, check_slice(x.ndim, dim, step), slice(start, end, step))

    @operator("diagonal")
    def diagonal(self, x: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
        """Return a view of a diagonal, which becomes the last dimension."""
        first, second = check_diagonal(x.ndim, dim1, dim2)
        offset = clamp_diagonal(offset, x.shape[first], x.shape[second])
        view = self.capabilities.diagonal(x, offset, first, second)
        if view.size:
            return view
        strides = list(self.capabilities.strides(x))
        last = strides[first] + strides[second]
        kept = [step for dim, step in enumerate(strides) if dim not in (first, second)]
        return self._empty(x, view, [*kept, last], 0)

    def _embedding_of(self, sizes: Sequence[int], key: tuple[slice, ...], grad: Array) -> Any:
        """Return zeros of `sizes` with `grad` at ``[key]``."""
        try:
            if grad.ndim > len(sizes):
                raise ValueError("NumPy would drop leading dimensions of size 1")
            return self.capabilities.embed(grad, check_size(sizes), key, 0)
        except ValueError as error:
            part = tuple([len(range(n)[each]) for n, each in zip(sizes, key, strict=False)])
            raise _no_gradient_error(grad, (*part, *sizes[len(part) :])) from error

    @operator("select_backward")
    def select_backward(
        self, grad_output: Array, input_sizes: Sequence[int], dim: int, index: int
    ) -> Any:
        """Return the gradient of `select`: zeros except in the slice."""
        axis = check_select(input_sizes, dim, index)
        index %= input_sizes[axis]
        key = (_ALL,) * axis + (slice(index, index + 1),)
        lead = len(input_sizes) - 1 - grad_output.ndim
        if lead < 0:
            raise _no_gradient_error(grad_output, (*input_sizes[:axis], *input_sizes[axis + 1 :]))
        if lead > 0:
            grad_output = grad_output[(None,) * lead]
        return self._embedding_of(input_sizes, key, grad_output[(_ALL,) * axis + (None, ...)])

    @operator("slice_backward")
    def slice_backward(
        self,
        grad_output: Array,
        input_sizes: Sequence[int],
        dim: int,
        start: int,
        end: int,
        step: int,
    ) -> Any:
        """Return the gradient of `slice_`: zeros except in the part."""
        axis = check_slice(len(input_sizes), dim, step)
        return self._embedding_of(
            input_sizes, (_ALL,) * axis + (slice(start, end, step),), grad_output
        )

    @operator("diagonal_backward")
    def diagonal_backward(
        self, grad_output: Array, input_sizes: Sequence[int], offset: int, dim1: int, dim2: int
    ) -> Any:
        """Return the gradient of `diagonal`: zeros except on the diagonal."""
        xp = self.xp
        sizes = check_size(input_sizes, 8)
        first, second = check_diagonal(len(sizes), dim1, dim2)
        offset = clamp_diagonal(offset, sizes[first], sizes[second])
        flat = self.capabilities.diagonal(
            xp.reshape(xp.arange(math.prod(sizes)), sizes), offset, first, second
        )
        zeros = xp.zeros(math.prod(sizes), dtype=grad_output.dtype)
        try:
            if grad_output.ndim > flat.ndim:
                raise ValueError("NumPy would drop leading dimensions of size 1")
            made = self.capabilities.index_put(zeros, (flat,), grad_output, False)
        except ValueError as error:
            raise _no_gradient_error(grad_output, flat.shape) from error
        return xp.reshape(made, sizes)

    @operator("unbind.int")
    def unbind(self, x: Array, dim: int = 0) -> list[Any]:
        """Return views of all slices along `dim`."""
        if not x.ndim:
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        axis = wrap_dim(dim, x.ndim)
        check_room(x.shape[axis], _BYTES_OF_VIEW)
        return [self._at(x, axis, index) for index in range(x.shape[axis])]

    @operator("split.Tensor", "unsafe_split.Tensor")
    def split(self, x: Array, split_size: int, dim: int = 0) -> list[Any]:
        """Return views of pieces of `split_size` along `dim`; the last may be shorter."""
        axis, starts = check_split(x.shape, split_size, dim)
        return [self._part(x, axis, slice(start, start + split_size)) for start in starts]

    @operator("split_with_sizes", "unsafe_split_with_sizes")
    def split_with_sizes(self, x: Array, split_sizes: Sequence[int], dim: int = 0) -> list[Any]:
        """Return views of pieces of these sizes along `dim`."""
        axis, pieces = check_split_sizes(x.shape, split_sizes, dim)
        return [self._part(x, axis, piece) for piece in pieces]

    def _at(self, x: Array, axis: int, index: int) -> Any:
        """Return the view at an index of an axis, which it is without."""
        view = x[(_ALL,) * axis + (index, ...)] if axis else x[index, ...]
        if view.size:
            return view
        strides = list(self.capabilities.strides(x))
        step = strides.pop(axis)
        return self._empty(x, view, strides, index * step)

    def _part(self, x: Array, axis: int, part: slice[Any, Any, Any]) -> Any:
        """Return the view of a part of an axis."""
        view = x[(_ALL,) * axis + (part,)] if axis else x[part]
        if view.size:
            return view
        start, _, step = part.indices(x.shape[axis])
        strides = list(self.capabilities.strides(x))
        skipped = start * strides[axis]
        strides[axis] *= step
        return self._empty(x, view, strides, skipped)

    def _empty(self, x: Array, view: Array, strides: Sequence[int], skipped: int) -> Any:
        """Return a view without elements that begins `skipped` elements behind the first one of
        `x`, where more of them may be written: libraries do not keep this place.
        """
        if not self.capabilities.mutable_arrays:
            return view
        first = self.capabilities.storage_offset(x) + skipped
        return self.capabilities.as_strided(x, view.shape, strides, first)


@lru_cache(1024)
def _without_ones(shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Return the index that drops the dimensions of size 1 of an array of `shape`."""
    return (*[0 if size == 1 else _ALL for size in shape], ...)


@lru_cache(1024)
def _without_some(shape: tuple[int, ...], dim: int | tuple[int, ...]) -> tuple[Any, ...]:
    """Return the index that drops the dimensions of size 1 that are among `dim`."""
    dims = wrap_dims(dim, len(shape)) if isinstance(dim, int) or dim else ()
    return (*[0 if size == 1 and axis in dims else _ALL for axis, size in enumerate(shape)], ...)


@lru_cache(1024)
def _with_new(dim: int, ndim: int) -> tuple[Any, ...]:
    """Return the index that adds a dimension at `dim` to `ndim` others."""
    return (*[_ALL] * wrap_dim(dim, ndim + 1), None, ...)


def _no_gradient_error(grad: Array, shape: Sequence[int]) -> RuntimeError:
    """Return the error for a gradient that is not one of a part of this shape."""
    shapes = [tuple(shape), tuple(grad.shape)]
    return broadcast_error(shapes) or shape_of_output_error(
        shapes[0], broadcast_shape(shapes) or shapes[1]
    )
