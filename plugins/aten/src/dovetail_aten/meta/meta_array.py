"""`MetaArray`: the array of the meta device, with shape, strides and dtype, and no data."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from dovetail_kernel import dtype, promote_types

from ..kernel_support.dims import check_size
from ..kernel_support.geometry.broadcasting import dense_strides_like, elementwise_layout
from ..kernel_support.geometry.memory_layout import contiguous_strides, reshaped_strides


class MetaArray:
    """Geometry of an array in a memory that does not exist.

    Parameters
    ----------
    shape
        Sizes.
    dtype
        A `dovetail_kernel.dtype`: the native dtypes of this backend are the dtypes themselves.
    element_strides
        Strides in elements; default: C-contiguous.
    offset
        Distance of the first element from the start of the memory, in elements.
    base
        The array whose memory this one is a view of.
    """

    __slots__ = ("base", "dtype", "element_strides", "ndim", "offset", "shape")

    def __init__(
        self,
        shape: Sequence[int],
        dtype: dtype,
        element_strides: Sequence[int] | None = None,
        offset: int = 0,
        base: MetaArray | None = None,
    ) -> None:
        self.shape = tuple(shape)
        self.dtype = dtype
        if element_strides is None:
            check_size(self.shape, dtype.itemsize)
            self.element_strides = contiguous_strides(self.shape)
        else:
            self.element_strides = tuple(element_strides)
        self.ndim = len(self.shape)
        self.offset = offset
        self.base = base

    @property
    def strides(self) -> tuple[int, ...]:
        """The strides in bytes."""
        return tuple(stride * self.dtype.itemsize for stride in self.element_strides)

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def memory(self) -> MetaArray:
        """The array whose memory this is: the first of its views, or itself."""
        return self if self.base is None else self.base

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return prod(self.shape) * self.dtype.itemsize

    def copy(self) -> MetaArray:
        """Return a contiguous array of the same shape and dtype: what autograd accumulates
        gradients in.
        """
        return MetaArray(self.shape, self.dtype)

    @property
    def T(self) -> MetaArray:
        """The array with its dimensions reversed."""
        return self.transpose()

    @property
    def real(self) -> MetaArray:
        """The real parts of complex numbers; of real ones, the array itself."""
        real = self.dtype.to_real()
        return self if real is self.dtype else MetaArray(self.shape, real)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __repr__(self) -> str:
        return (
            f"MetaArray(shape={self.shape}, "
            f"dtype={self.dtype.name}, "
            f"strides={self.element_strides})"
        )

    def shown(
        self, shape: Sequence[int], strides: Sequence[int], offset: int | None = None
    ) -> MetaArray:
        """Return a view of the same memory with another geometry; `offset` is from the start of the
        memory.
        """
        return MetaArray(
            shape, self.dtype, strides, self.offset if offset is None else offset, self.memory
        )

    def view(self) -> MetaArray:
        """Return a view of the whole array."""
        return self.shown(self.shape, self.element_strides)

    def astype(self, dtype: dtype, copy: bool = True) -> MetaArray:
        """Return a copy with another dtype."""
        if dtype is self.dtype and not copy:
            return self
        return MetaArray(self.shape, dtype, dense_strides_like(self.shape, self.element_strides))

    def transpose(self, *axes: Any) -> MetaArray:
        """Return a view with its dimensions in the order `axes`, by default reversed; one sequence
        will do, too.
        """
        given = axes[0] if len(axes) == 1 and isinstance(axes[0], list | tuple) else axes
        order = given or tuple(reversed(range(self.ndim)))
        return self.shown([self.shape[i] for i in order], [self.element_strides[i] for i in order])

    def reshape(self, *shape: Any) -> MetaArray:
        """Return an array of another shape: a view if the strides allow it, else a copy."""
        sizes = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], list | tuple) else shape
        known = prod(n for n in sizes if n >= 0)
        sizes = tuple(self.size // max(known, 1) if n < 0 else n for n in sizes)
        if prod(sizes) != self.size:
            raise ValueError(f"cannot reshape array of size {self.size} into shape {sizes}")
        strides = reshaped_strides(self.shape, self.element_strides, sizes)
        return MetaArray(sizes, self.dtype) if strides is None else self.shown(sizes, strides)

    def __add__(self, other: MetaArray) -> MetaArray:
        """Return the sum, which is what gradients that meet are made into."""
        layouts = [(array.shape, array.element_strides) for array in (self, other)]
        shape, strides = elementwise_layout(layouts)
        return MetaArray(shape, promote_types(self.dtype, other.dtype), strides)

    def sum(self, axis: Sequence[int], keepdims: bool, dtype: dtype) -> MetaArray:
        """Return the sum over `axis`, which is what gradients of broadcast operands are made
        into.
        """
        dims = {dim % self.ndim for dim in axis}
        sizes = [
            1 if dim in dims else n
            for dim, n in enumerate(self.shape)
            if keepdims or dim not in dims
        ]
        return MetaArray(sizes, dtype)

    def __getitem__(self, key: Any) -> MetaArray:
        """Return the view that integers, slices, ``...`` and None select."""
        items = list(key) if isinstance(key, tuple) else [key]
        given = sum(item is not None and item is not Ellipsis for item in items)
        if Ellipsis not in items:
            items.append(Ellipsis)
        place = items.index(Ellipsis)
        items[place : place + 1] = [slice(None)] * (self.ndim - given)
        shape, strides, offset, dim = [], [], self.offset, 0
        for item in items:
            if item is None:
                shape.append(1)
                strides.append(0)
                continue
            size, stride = self.shape[dim], self.element_strides[dim]
            dim += 1
            if isinstance(item, slice):
                start, stop, step = item.indices(size)
                count = len(range(start, stop, step))
                shape.append(count)
                strides.append(stride * step)
                offset += start * stride if count else 0
            else:
                if not -size <= item < size:
                    raise IndexError(
                        f"index {item} is out of bounds for axis {dim - 1} with size {size}"
                    )
                offset += (item % size) * stride
        return self.shown(shape, strides, offset)
