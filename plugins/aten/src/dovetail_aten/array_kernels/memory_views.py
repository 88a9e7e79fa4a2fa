"""Views that say how memory is read: strides, other dtypes, complex numbers as pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_kernel import complex64, complex128, float32, float64

from .family import Family, helper, operator

_ALL = slice(None)
_PARTS = {complex64: float32, complex128: float64}
_WHOLES = {part: whole for whole, part in _PARTS.items()}


class MemoryViews(Family):
    """Views with other strides, or of the same bytes as another dtype."""

    @operator("alias", "detach")
    def alias(self, x: Any) -> Any:
        """Return the array itself: a view of all of it."""
        return x

    @operator("as_strided")
    def as_strided(
        self, x: Any, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
    ) -> Any:
        """Return a view of the memory that `x` lies in, with these sizes, strides and offset."""
        if len(size) != len(stride):
            raise RuntimeError(
                f"mismatch in length of strides and shape: {list(stride)} and {list(size)}"
            )
        if any(step < 0 for step in stride):
            raise RuntimeError(
                "as_strided: Negative strides are not supported at the moment, got strides: "
                f"{list(stride)}"
            )
        if any(length < 0 for length in size):
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {min(size)}: {list(size)}"
            )
        result = self.capabilities.as_strided(x, tuple(size), tuple(stride), storage_offset)
        if result is None:
            itemsize = x.dtype.itemsize
            reach = 1 + (storage_offset or 0)
            reach += sum([(length - 1) * step for length, step in zip(size, stride, strict=True)])
            raise RuntimeError(
                f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset "
                f"{storage_offset or 0}, and itemsize "
                f"{itemsize} requiring a storage size of {reach * itemsize} are out of bounds for "
                "the storage"
            )
        return result

    @operator("view.dtype")
    def view_dtype(self, x: Any, dtype: Any) -> Any:
        """Return a view of the same bytes as numbers of another dtype."""
        if dtype == x.dtype:
            return x
        own, other = self.dtypes[x.dtype], self.dtypes[dtype]
        words = f"to view {own.scalar_name} as {other.scalar_name} (different element sizes)"
        if own.itemsize != other.itemsize:
            if not x.ndim:
                raise RuntimeError(f"self.dim() cannot be 0 {words}")
            ratio = other.itemsize // own.itemsize
            if ratio > 1 and x.shape[-1] % ratio:
                raise RuntimeError(
                    f"self.size(-1) must be divisible by {ratio} {words}, but got "
                    f"{x.shape[-1]}. Pad it first."
                )
        try:
            return self.capabilities.reinterpret(x, dtype)
        except ValueError:
            raise RuntimeError(
                f"self.stride(-1) must be 1 {words}. Use contiguous() first."
            ) from None

    @operator("view_as_real")
    def view_as_real(self, x: Any) -> Any:
        """Return a view of complex numbers with a last dimension of real and imaginary parts."""
        part = _PARTS.get(self.dtypes[x.dtype])
        if part is None:
            raise RuntimeError(
                "view_as_real is only supported for complex tensors, but this one is "
                f"{self.dtypes[x.dtype]}"
            )
        return self.capabilities.reinterpret(x[..., None], self.native_dtypes[part])

    @operator("view_as_complex")
    def view_as_complex(self, x: Any) -> Any:
        """Return a view of a last dimension of two numbers as complex numbers."""
        whole = _WHOLES.get(self.dtypes[x.dtype])
        if whole is None:
            raise RuntimeError(
                "view_as_complex is only supported for half, float and double tensors, but got a "
                "tensor of scalar type: "
                f"{self.dtypes[x.dtype].scalar_name}"
            )
        if not x.ndim:
            raise RuntimeError("Input tensor must have one or more dimensions")
        if x.shape[-1] != 2:
            raise RuntimeError("Tensor must have a last dimension of size 2")
        try:
            return self.capabilities.reinterpret(x, self.native_dtypes[whole])[
                (*(_ALL,) * (x.ndim - 1), 0, ...)
            ]
        except ValueError:
            raise RuntimeError(
                "Tensor must have a last dimension with stride 1. Use contiguous() first."
            ) from None

    @helper("contiguous")
    def contiguous(self, x: Any) -> Any:
        """Return `x` if its elements lie in C order, else a copy where they do."""
        return self.capabilities.contiguous(x)
