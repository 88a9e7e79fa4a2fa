"""Copies in another shape or order: clone, cat, flip, repeat, triangles, padding, conversion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_kernel import MemoryFormat, contiguous_format, preserve_format, result_dtype
from dovetail_kernel import bool as bool_
from dovetail_kernel.typing import NativeDtype

from ...kernel_support.checks.copy_checks import (
    cat_error,
    check_cat,
    check_repeats,
    check_stack,
    check_triangle,
    embedded_shape,
    padded_shape,
)
from ...kernel_support.dims import check_size, clamp_diagonal, wrap_dim, wrap_dims
from ...kernel_support.family import Family, never_warns, operator
from ...kernel_support.geometry.memory_layout import inverse, required_order
from ...kernel_support.operands import discard_imaginary
from ...kernel_support.table import Function
from ...typing import Array, Scalar

_ALL = slice(None)


class Shapes(Family):
    """Copies in another shape, order or dtype."""

    def _arranged(self, array: Array, memory_format: MemoryFormat | None) -> Any:
        """Return a new array in the memory order of a format; None and preserve_format keep what
        there is.
        """
        xp = self.xp
        if memory_format is contiguous_format:
            if not self.capabilities.is_contiguous(array):
                return self.capabilities.contiguous(array)  # a copy
            return xp.array(array, order="C", copy=True)
        if memory_format is None or memory_format is preserve_format:
            return self.capabilities.clone(array)
        order = required_order(memory_format, array.ndim)
        copied = xp.array(array.transpose(order), order="C", copy=True)
        return copied.transpose(inverse(order))

    @operator("clone")
    @never_warns
    def clone(self, x: Array, *, memory_format: MemoryFormat | None = None) -> Any:
        """Return a copy, in the order of strides of `memory_format`."""
        return (
            self.capabilities.clone(x)
            if memory_format is None
            else self._arranged(x, memory_format)
        )

    def _readable_as(self, dtype: NativeDtype, array: Array) -> Any:
        """Return the real part of complex numbers where real ones are wanted; a bool is true of an
        imaginary one.
        """
        wanted = self.dtypes[dtype]
        is_narrower = not wanted.is_complex and wanted is not bool_
        if is_narrower and self.dtypes[array.dtype].is_complex:
            return discard_imaginary(array)
        return array

    @operator("_to_copy")
    def to_copy(
        self,
        x: Array,
        *,
        dtype: NativeDtype | None = None,
        memory_format: MemoryFormat | None = None,
        **options: Any,
    ) -> Any:
        """Return a copy in another dtype or memory format; complex numbers are converted to their
        real parts in a real dtype.
        """
        if dtype is None or dtype == x.dtype:
            return self._arranged(x, memory_format)
        made = self.in_order(self._readable_as(dtype, x).astype(dtype), x)
        return made if memory_format is None else self._arranged(made, memory_format)

    @operator("copy_")
    @never_warns
    def copy_(self, x: Array, src: Array, non_blocking: bool = False) -> Any:
        """Return `src`: the values of copy_. It is never a single number, which only fill_ can
        write to broadcast memory.
        """
        src = self._readable_as(x.dtype, src)
        return src if src.ndim or not x.ndim else src[None]

    @operator("fill_.Scalar")
    @never_warns
    def fill_number(self, x: Array, value: Scalar) -> Any:
        """Return the number `value` in the dtype of `x`: the value of fill_."""
        return self.numbers.fitting(x, value)

    @operator("fill_.Tensor")
    @never_warns
    def fill(self, x: Array, value: Array) -> Any:
        """Return the 0-d array `value`: the value of fill_."""
        if value.ndim:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} "
                "dimensions. Use copy_."
            )
        return self._readable_as(x.dtype, value)

    @operator("zero_")
    @never_warns
    def zero_(self, x: Array) -> Any:
        """Return 0: the value of zero_."""
        return self.numbers.like(x, 0)

    @operator("_local_scalar_dense")
    @never_warns
    def local_scalar_dense(self, x: Any) -> Any:
        """Return the single element as a Python number, which reads its value."""
        if x.size != 1:
            raise RuntimeError(
                f"a Tensor with {x.size} elements cannot be converted to Scalar. Select one, "
                "or use tolist()."
            )
        return x.item()

    def _alike(self, arrays: Sequence[Array]) -> Sequence[Any]:
        """Return the arrays in their common dtype."""
        first = arrays[0].dtype
        if all([array.dtype == first for array in arrays]):
            return arrays
        common = self.native_dtypes[
            result_dtype(
                [self.dtypes[array.dtype] for array in arrays if array.ndim],
                [self.dtypes[array.dtype] for array in arrays if not array.ndim],
            )
        ]
        cast = self.capabilities.cast  # without warnings of overflow
        return [array if array.dtype == common else cast(array, common) for array in arrays]

    @operator("cat")
    @never_warns
    def cat(self, tensors: Sequence[Array], dim: int = 0) -> Any:
        """Return the arrays joined along `dim`, in their common dtype."""
        check_cat([array.ndim for array in tensors])
        tensors = self._alike(tensors)
        # An empty 1-d tensor joins anything.
        taking_part = [array for array in tensors if array.shape != (0,)]
        if not taking_part:  # any `dim` will do
            return self.capabilities.contiguous(self.xp.concatenate(tensors))
        axis = wrap_dim(dim, taking_part[0].ndim)
        try:
            return self.capabilities.contiguous(self.xp.concatenate(taking_part, axis=axis))
        except (TypeError, ValueError) as error:
            raise cat_error([array.shape for array in taking_part], axis) or error from None

    @operator("stack")
    @never_warns
    def stack(self, tensors: Sequence[Array], dim: int = 0) -> Any:
        """Return the arrays joined along a new dimension `dim`, in their common dtype."""
        axis = check_stack([array.shape for array in tensors], dim)
        tensors = self._alike(tensors)
        key = (_ALL,) * axis + (None,)
        joined = self.xp.concatenate([array[key] for array in tensors], axis=axis)
        return self.capabilities.contiguous(joined)

    @operator("flip")
    @never_warns
    def flip(self, x: Array, dims: Sequence[int]) -> Any:
        """Return a copy reversed along `dims`."""
        axes = wrap_dims(dims, x.ndim) if dims else ()
        key = tuple([slice(None, None, -1) if axis in axes else _ALL for axis in range(x.ndim)])
        # Copied in C order: tensors have no negative strides.
        return self.xp.array(x[key], order="C", copy=True) if x.ndim else self.capabilities.clone(x)

    @operator("roll")
    @never_warns
    def roll(self, x: Array, shifts: int | Sequence[int], dims: int | Sequence[int] = ()) -> Any:
        """Return a copy shifted along `dims`; elements that leave one end enter at the other."""
        shifts = (shifts,) if isinstance(shifts, int) else shifts
        dims = (dims,) if isinstance(dims, int) else dims
        if not shifts:
            raise RuntimeError("`shifts` required: give at least one.")
        if dims and not x.ndim:
            raise IndexError(
                f"Dimension specified as {dims[0]} but tensor has no dimensions. Leave out dims."
            )
        if not dims and len(shifts) == 1:
            flat = self.xp.reshape(x, (-1,))
            return self.xp.reshape(self.roll(flat, shifts, (0,)), x.shape)
        if len(shifts) != len(dims):
            raise RuntimeError(
                f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}"
            )
        result = self.capabilities.contiguous(x)
        if not x.size:
            return self.capabilities.clone(x)
        for shift, dim in zip(shifts, dims, strict=True):
            axis = wrap_dim(dim, x.ndim)
            size = x.shape[axis] if x.ndim else 0
            if size and shift % size:
                before, cut = (_ALL,) * axis, size - shift % size
                result = self.xp.concatenate(
                    [result[(*before, slice(cut, None))], result[(*before, slice(cut))]], axis=axis
                )
        return self.capabilities.clone(result) if result is x else result

    @operator("repeat")
    def repeat(self, x: Array, repeats: Sequence[int]) -> Any:
        """Return a copy repeated along every dimension."""
        own = check_repeats(repeats, x.shape)
        check_size([n * size for n, size in zip(repeats, own, strict=True)], x.dtype.itemsize)
        key: list[Any] = []
        for _ in repeats:
            key += (None, _ALL)
        paired = [n for pair in zip(repeats, own, strict=True) for n in pair]
        expanded = self.capabilities.expand(
            self.xp.reshape(x, own)[tuple(key)] if key else x, tuple(paired)
        )
        shape = tuple([n * size for n, size in zip(repeats, own, strict=True)])
        return self.capabilities.view(self.xp.array(expanded, order="C", copy=True), shape)

    @operator("constant_pad_nd")
    @never_warns
    def constant_pad_nd(self, x: Array, pad: Sequence[int], value: Scalar = 0) -> Any:
        """Return a copy padded with `value`; negative padding crops. The pairs of `pad` begin with
        the last dimension.
        """
        shape, take, put = padded_shape(x.shape, pad), [_ALL] * x.ndim, [_ALL] * x.ndim
        for pair in range(len(pad) // 2):
            dim = x.ndim - 1 - pair
            low, high, size = pad[2 * pair], pad[2 * pair + 1], x.shape[dim]
            take[dim] = slice(max(-low, 0), size - max(-high, 0))
            put[dim] = slice(max(low, 0), shape[dim] - max(high, 0))
        check_size(shape, x.dtype.itemsize)
        if value:
            value = self.numbers.fitting(x, value)
        return self.capabilities.embed(x[tuple(take)], tuple(shape), tuple(put), value)

    def _triangle(self, name: str, compare: Function, x: Any, diagonal: int) -> Any:
        """Return a copy with 0 where ``compare(column - row, diagonal)`` is not true."""
        check_triangle(name, x.ndim)
        xp, diagonal = self.xp, clamp_diagonal(diagonal, *x.shape[-2:])
        rows, columns = xp.arange(x.shape[-2])[:, None], xp.arange(x.shape[-1])
        triangle = xp.where(compare(columns - rows, diagonal), x, self.numbers.like(x, 0))
        return self.capabilities.contiguous(triangle)

    @operator("tril")
    @never_warns
    def tril(self, x: Array, diagonal: int = 0) -> Any:
        """Return a copy with 0 above `diagonal`."""
        return self._triangle("tril", self.xp.less_equal, x, diagonal)

    @operator("triu")
    @never_warns
    def triu(self, x: Array, diagonal: int = 0) -> Any:
        """Return a copy with 0 below `diagonal`."""
        return self._triangle("triu", self.xp.greater_equal, x, diagonal)

    @operator("diag_embed")
    def diag_embed(self, x: Array, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
        """Return zeros with the last dimension of `x` along a diagonal of `dim1` and `dim2`."""
        inserted, (row, column) = embedded_shape(x.shape, offset, dim1, dim2)
        check_size(inserted, 8)
        # In matrices without gaps the elements of a diagonal are one row and one column apart.
        count, size = x.shape[-1], x.shape[-1] + abs(offset)
        start = offset if offset > 0 else -offset * size
        span = slice(start, start + count * (size + 1), size + 1)
        shape = (*x.shape[:-1], size * size)
        made = self.capabilities.embed(x, shape, (*[_ALL] * (x.ndim - 1), span), 0)
        order = list(range(x.ndim - 1))
        for dim, own in sorted([(row, x.ndim - 1), (column, x.ndim)]):
            order.insert(dim, own)
        matrices = self.xp.reshape(made, (*x.shape[:-1], size, size)).transpose(order)
        flat = self.xp.reshape(self.capabilities.contiguous(matrices), (-1,))
        return self.xp.reshape(flat, tuple(inserted))
