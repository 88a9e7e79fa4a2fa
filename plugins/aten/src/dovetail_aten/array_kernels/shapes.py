"""Copies in another shape or order: clone, cat, flip, repeat, triangles, padding, conversion."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail_kernel import bool as bool_
from dovetail_kernel import channels_last, contiguous_format, result_dtype

from .capabilities import Capabilities
from .dims import wrap_dim, wrap_dims
from .operands import Numbers
from .table import KernelTable

_ALL = slice(None)


def define(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    """Define the kernels of this family."""
    _define_copies(xp, kernel, capabilities)
    _define_joins(xp, kernel, capabilities)
    _define_orders(xp, kernel, capabilities)
    _define_triangles(xp, kernel, capabilities)


def _define_copies(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    numbers, is_contiguous = Numbers(capabilities), capabilities.is_contiguous

    def arranged(array: Any, memory_format: Any) -> Any:
        """Return a new array in the memory order of a format; None and preserve_format keep what
        there is.
        """
        if memory_format is contiguous_format:
            return xp.array(array, order="C", copy=True)
        if memory_format is channels_last and array.ndim == 4:
            return xp.array(array.transpose(0, 2, 3, 1), order="C", copy=True).transpose(0, 3, 1, 2)
        return capabilities.clone(array)

    @kernel.named("clone")
    def clone(self: Any, *, memory_format: Any = None) -> Any:
        return capabilities.clone(self) if memory_format is None else arranged(self, memory_format)

    def readable_as(dtype: Any, array: Any) -> Any:
        """Return the real part of complex numbers where real ones are wanted; a bool is true of an
        imaginary one.
        """
        wanted = capabilities.dtypes[dtype]
        is_narrower = not wanted.is_complex and wanted is not bool_
        return array.real if is_narrower and capabilities.dtypes[array.dtype].is_complex else array

    @kernel.named("_to_copy")
    def to_copy(
        self: Any,
        *,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: bool | None = None,
        non_blocking: bool = False,
        memory_format: Any = None,
    ) -> Any:
        if dtype is None or dtype == self.dtype:
            return arranged(self, memory_format)
        made = readable_as(dtype, self).astype(dtype)
        if made.ndim > 1 and not is_contiguous(made) and 0 in getattr(self, "strides", ()):
            # Expanded: array namespaces put the dimensions that share memory innermost.
            made = capabilities.contiguous(made)
        return made if memory_format is None else arranged(made, memory_format)

    # What in-place operators compute is written into their argument at once, so that an alias does
    # no harm here.

    @kernel.named("copy_")
    def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
        return readable_as(self.dtype, src)

    @kernel.named("fill_.Scalar")
    def fill_number(self: Any, value: Any) -> Any:
        return numbers.fitting(self, value)

    @kernel.named("fill_.Tensor")
    def fill(self: Any, value: Any) -> Any:
        if value.ndim:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} "
                "dimensions. Use copy_."
            )
        return value

    @kernel.named("zero_")
    def zero_(self: Any) -> Any:
        return numbers.like(self, 0)

    @kernel.named("_local_scalar_dense")
    def local_scalar_dense(self: Any) -> Any:
        if self.size != 1:
            raise RuntimeError(
                f"a Tensor with {self.size} elements cannot be converted to Scalar. Select one, "
                "or use tolist()."
            )
        return self.item()


def _define_joins(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    dtypes, native_dtypes = capabilities.dtypes, capabilities.native_dtypes

    def alike(arrays: Sequence[Any]) -> Sequence[Any]:
        """Return the arrays in their common dtype."""
        first = arrays[0].dtype
        if all([array.dtype == first for array in arrays]):
            return arrays
        common = native_dtypes[
            result_dtype(
                [dtypes[array.dtype] for array in arrays if array.ndim],
                [dtypes[array.dtype] for array in arrays if not array.ndim],
            )
        ]
        return [array.astype(common, copy=False) for array in arrays]

    @kernel.named("cat")
    def cat(tensors: Sequence[Any], dim: int = 0) -> Any:
        if not tensors:
            raise ValueError(
                "torch.cat(): expected a non-empty list of Tensors. Give at least one."
            )
        for position, array in enumerate(tensors):
            if not array.ndim:
                raise RuntimeError(
                    f"zero-dimensional tensor (at position {position}) cannot be concatenated. "
                    "Use stack."
                )
        tensors = alike(tensors)
        # An empty 1-d tensor joins anything.
        taking_part = [array for array in tensors if array.shape != (0,)] or tensors
        axis = wrap_dim(dim, taking_part[0].ndim)
        try:
            return capabilities.contiguous(xp.concatenate(taking_part, axis))
        except ValueError as error:
            raise cat_error([array.shape for array in taking_part], axis) or error from None

    @kernel.named("stack")
    def stack(tensors: Sequence[Any], dim: int = 0) -> Any:
        if not tensors:
            raise RuntimeError("stack expects a non-empty TensorList. Give at least one.")
        tensors = alike(tensors)
        shape = tensors[0].shape
        axis = wrap_dim(dim, len(shape) + 1)
        for position, array in enumerate(tensors):
            if array.shape != shape:
                raise RuntimeError(
                    f"stack expects each tensor to be equal size, but got {list(shape)} at entry "
                    "0 and "
                    f"{list(array.shape)} at entry {position}"
                )
        key = (_ALL,) * axis + (None,)
        return capabilities.contiguous(xp.concatenate([array[key] for array in tensors], axis))


def cat_error(shapes: Sequence[Sequence[int]], axis: int) -> RuntimeError | None:
    """Return the error for shapes that cannot be joined along `axis`; None if they can."""
    first = shapes[0]
    for position, shape in enumerate(shapes):
        if len(shape) != len(first):
            return RuntimeError(
                f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}"
            )
        for dim, (expected, size) in enumerate(zip(first, shape, strict=True)):
            if dim != axis and expected != size:
                return RuntimeError(
                    f"Sizes of tensors must match except in dimension {axis}. Expected size "
                    f"{expected} but got size {size} "
                    f"for tensor number {position} in the list."
                )
    return None


def _define_orders(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    numbers = Numbers(capabilities)

    @kernel.named("flip")
    def flip(self: Any, dims: Sequence[int]) -> Any:
        axes = wrap_dims(dims, self.ndim) if dims else ()
        key = tuple([slice(None, None, -1) if axis in axes else _ALL for axis in range(self.ndim)])
        # Copied in C order: tensors have no negative strides.
        return xp.array(self[key], order="C", copy=True) if self.ndim else capabilities.clone(self)

    @kernel.named("roll")
    def roll(self: Any, shifts: int | Sequence[int], dims: int | Sequence[int] = ()) -> Any:
        shifts = (shifts,) if isinstance(shifts, int) else shifts
        dims = (dims,) if isinstance(dims, int) else dims
        if not shifts:
            raise RuntimeError("`shifts` required: give at least one.")
        if dims and not self.ndim:
            raise IndexError(
                f"Dimension specified as {dims[0]} but tensor has no dimensions. Leave out dims."
            )
        if not dims and len(shifts) == 1:
            flat = self.reshape(-1)
            return roll(flat, shifts, (0,)).reshape(self.shape)
        if len(shifts) != len(dims):
            raise RuntimeError(
                f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}"
            )
        result = capabilities.contiguous(self)
        if not self.size:
            return capabilities.clone(self)
        for shift, dim in zip(shifts, dims, strict=True):
            axis = wrap_dim(dim, self.ndim)
            size = self.shape[axis] if self.ndim else 0
            if size and shift % size:
                before, cut = (_ALL,) * axis, size - shift % size
                result = xp.concatenate(
                    [result[(*before, slice(cut, None))], result[(*before, slice(cut))]], axis
                )
        return capabilities.clone(result) if result is self else result

    @kernel.named("repeat")
    def repeat(self: Any, repeats: Sequence[int]) -> Any:
        if len(repeats) < self.ndim:
            raise RuntimeError(
                "Number of dimensions of repeat dims can not be smaller than number of dimensions "
                "of tensor"
            )
        if any([n < 0 for n in repeats]):
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {min(repeats)}: {list(repeats)}"
            )
        own = (1,) * (len(repeats) - self.ndim) + tuple(self.shape)
        key: list[Any] = []
        for _ in repeats:
            key += (None, _ALL)
        paired = [n for pair in zip(repeats, own, strict=True) for n in pair]
        expanded = capabilities.expand(
            self.reshape(own)[tuple(key)] if key else self, tuple(paired)
        )
        shape = tuple([n * size for n, size in zip(repeats, own, strict=True)])
        return xp.array(expanded, order="C", copy=True).reshape(shape)

    @kernel.named("constant_pad_nd")
    def constant_pad_nd(self: Any, pad: Sequence[int], value: Any = 0) -> Any:
        if len(pad) % 2:
            raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
        if len(pad) > 2 * self.ndim:
            raise RuntimeError(
                "Length of pad should be no more than twice the number of dimensions of the input. "
                f"Pad length is {len(pad)} while the input has {self.ndim} dimensions."
            )
        shape, take, put = list(self.shape), [_ALL] * self.ndim, [_ALL] * self.ndim
        for pair in range(len(pad) // 2):
            dim = self.ndim - 1 - pair
            low, high, size = pad[2 * pair], pad[2 * pair + 1], self.shape[dim]
            if size + low + high < 0 or min(low, 0) + min(high, 0) < -size:
                raise RuntimeError(
                    f"narrow(): length must be non-negative: padding {low} and {high} leaves "
                    f"nothing of size {size} at "
                    f"dimension {dim}"
                )
            shape[dim] = size + low + high
            take[dim] = slice(max(-low, 0), size - max(-high, 0))
            put[dim] = slice(max(low, 0), shape[dim] - max(high, 0))
        if value:
            value = numbers.fitting(self, value)
        return capabilities.embed(self[tuple(take)], tuple(shape), tuple(put), value)


def _define_triangles(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    numbers = Numbers(capabilities)

    def define_triangle(name: str, compare: Any) -> None:
        @kernel.named(name)
        def triangle(self: Any, diagonal: int = 0) -> Any:
            if self.ndim < 2:
                raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
            rows, columns = xp.arange(self.shape[-2])[:, None], xp.arange(self.shape[-1])
            return xp.where(compare(columns - rows, diagonal), self, numbers.like(self, 0))

    define_triangle("tril", xp.less_equal)
    define_triangle("triu", xp.greater_equal)

    @kernel.named("diag_embed")
    def diag_embed(self: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
        ndim = self.ndim + 1
        first, second = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
        if first == second:
            raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
        size = self.shape[-1] + abs(offset)
        sizes = list(self.shape[:-1])
        for dim in sorted((first, second)):
            sizes.insert(dim, size)
        places = xp.arange(math.prod(sizes)).reshape(sizes)
        flat = capabilities.diagonal(places, offset, first, second)
        return capabilities.index_put(
            xp.zeros(math.prod(sizes), self.dtype), (flat,), self, False
        ).reshape(sizes)
