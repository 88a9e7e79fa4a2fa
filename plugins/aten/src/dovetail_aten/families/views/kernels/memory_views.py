"""Views that say how memory is read: strides, other dtypes, complex numbers as pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail_kernel.typing import NativeDtype

from ....kernel_support.family import Family, helper, operator
from ....kernel_support.geometry.view_bounds import check_view_bounds
from ....typing import Array
from .reinterpretation import PARTS, check_pairs, check_reinterpreted

_ALL = slice(None)


class MemoryViews(Family):
    """Views with other strides, or of the same bytes as another dtype."""

    @operator("alias", "detach")
    def alias(self, x: Array) -> Any:
        """Return the array itself: a view of all of it."""
        return x

    @operator("as_strided")
    def as_strided(
        self,
        x: Array,
        size: Sequence[int],
        stride: Sequence[int],
        storage_offset: int | None = None,
    ) -> Any:
        """Return a view of the memory that `x` lies in, with these sizes, strides and offset."""
        start, stop = self.capabilities.memory_bounds(x)
        if storage_offset is None:
            storage_offset = self.capabilities.storage_offset(x)
        check_view_bounds(size, stride, storage_offset, x.dtype.itemsize, stop - start)
        return self.capabilities.as_strided(x, tuple(size), tuple(stride), storage_offset)

    @operator("view.dtype")
    def view_dtype(self, x: Array, dtype: NativeDtype) -> Any:
        """Return a view of the same bytes as numbers of another dtype."""
        if dtype == x.dtype:
            return x
        check_reinterpreted(self.dtypes[x.dtype], self.dtypes[dtype], *self._geometry(x))
        return self.capabilities.reinterpret(x, dtype)

    @operator("view_as_real")
    def view_as_real(self, x: Array) -> Any:
        """Return a view of complex numbers with a last dimension of real and imaginary parts."""
        part = PARTS.get(self.dtypes[x.dtype])
        if part is None:
            raise RuntimeError(
                "view_as_real is only supported for complex tensors, but this one is "
                f"{self.dtypes[x.dtype]}"
            )
        return self.capabilities.reinterpret(x[..., None], self.native_dtypes[part])

    @operator("view_as_complex")
    def view_as_complex(self, x: Array) -> Any:
        """Return a view of a last dimension of two numbers as complex numbers."""
        whole = check_pairs(self.dtypes[x.dtype], *self._geometry(x))
        pairs = self.capabilities.reinterpret(x, self.native_dtypes[whole])
        return pairs[(*(_ALL,) * (x.ndim - 1), 0, ...)]

    def _geometry(self, x: Array) -> tuple[Any, Any, Callable[[], int]]:
        """Return shape and strides of `x`, and what finds its offset, all in elements."""
        return x.shape, self.capabilities.strides(x), lambda: self.capabilities.storage_offset(x)

    @helper("contiguous")
    def contiguous(self, x: Array) -> Any:
        """Return `x` if its elements lie in C order, else a copy where they do."""
        return self.capabilities.contiguous(x)
