"""Conversions of storages to other dtypes, under the names of C's types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dovetail_kernel as kernel

from ...sockets import TYPED_STORAGE
from .storage_properties import StorageProperties


def _conversion(name: str, wanted: kernel.dtype) -> Callable[..., Any]:
    """Return the method `name`, which converts a storage to a dtype."""

    def convert(self: StorageConversions) -> Any:
        return TYPED_STORAGE.plug(self._line().to(wanted, copy=True))

    convert.__name__, convert.__qualname__ = name, f"StorageConversions.{name}"
    convert.__doc__ = f"Return a copy of dtype {wanted.name}, as a `TypedStorage`."
    return convert


class StorageConversions(StorageProperties):
    """The part of storages that converts their elements, each to a number of another dtype."""

    __slots__ = ()

    bool = _conversion("bool", kernel.bool)
    byte = _conversion("byte", kernel.uint8)
    char = _conversion("char", kernel.int8)
    short = _conversion("short", kernel.int16)
    int = _conversion("int", kernel.int32)
    long = _conversion("long", kernel.int64)
    half = _conversion("half", kernel.float16)
    bfloat16 = _conversion("bfloat16", kernel.bfloat16)
    float = _conversion("float", kernel.float32)
    double = _conversion("double", kernel.float64)
    complex_float = _conversion("complex_float", kernel.complex64)
    complex_double = _conversion("complex_double", kernel.complex128)
