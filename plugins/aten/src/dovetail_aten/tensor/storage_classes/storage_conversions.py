"""Conversions of storages to other dtypes, under the names of C's types."""

from __future__ import annotations

from typing import Any

import dovetail_kernel as kernel

from ...sockets import TYPED_STORAGE
from .storage_properties import StorageProperties


class StorageConversions(StorageProperties):
    """The part of storages that converts their elements, each to a number of another dtype."""

    __slots__ = ()

    def _converted(self, wanted: kernel.dtype) -> Any:
        return TYPED_STORAGE.plug(self._line().to(wanted, copy=True))

    def bool(self) -> Any:
        """Return a copy of dtype bool, as a `TypedStorage`."""
        return self._converted(kernel.bool)

    def byte(self) -> Any:
        """Return a copy of dtype uint8, as a `TypedStorage`."""
        return self._converted(kernel.uint8)

    def char(self) -> Any:
        """Return a copy of dtype int8, as a `TypedStorage`."""
        return self._converted(kernel.int8)

    def short(self) -> Any:
        """Return a copy of dtype int16, as a `TypedStorage`."""
        return self._converted(kernel.int16)

    def int(self) -> Any:
        """Return a copy of dtype int32, as a `TypedStorage`."""
        return self._converted(kernel.int32)

    def long(self) -> Any:
        """Return a copy of dtype int64, as a `TypedStorage`."""
        return self._converted(kernel.int64)

    def half(self) -> Any:
        """Return a copy of dtype float16, as a `TypedStorage`."""
        return self._converted(kernel.float16)

    def bfloat16(self) -> Any:
        """Return a copy of dtype bfloat16, as a `TypedStorage`."""
        return self._converted(kernel.bfloat16)

    def float(self) -> Any:
        """Return a copy of dtype float32, as a `TypedStorage`."""
        return self._converted(kernel.float32)

    def double(self) -> Any:
        """Return a copy of dtype float64, as a `TypedStorage`."""
        return self._converted(kernel.float64)

    def complex_float(self) -> Any:
        """Return a copy of dtype complex64, as a `TypedStorage`."""
        return self._converted(kernel.complex64)

    def complex_double(self) -> Any:
        """Return a copy of dtype complex128, as a `TypedStorage`."""
        return self._converted(kernel.complex128)
