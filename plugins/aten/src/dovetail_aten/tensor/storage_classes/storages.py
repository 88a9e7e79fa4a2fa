"""The classes of storages under their public names."""

from __future__ import annotations

from .typed_storage import LEGACY_STORAGES, TypedStorage
from .untyped_storage import UntypedStorage

BFloat16Storage = LEGACY_STORAGES["BFloat16Storage"]
BoolStorage = LEGACY_STORAGES["BoolStorage"]
ByteStorage = LEGACY_STORAGES["ByteStorage"]
CharStorage = LEGACY_STORAGES["CharStorage"]
ComplexDoubleStorage = LEGACY_STORAGES["ComplexDoubleStorage"]
ComplexFloatStorage = LEGACY_STORAGES["ComplexFloatStorage"]
DoubleStorage = LEGACY_STORAGES["DoubleStorage"]
FloatStorage = LEGACY_STORAGES["FloatStorage"]
HalfStorage = LEGACY_STORAGES["HalfStorage"]
IntStorage = LEGACY_STORAGES["IntStorage"]
LongStorage = LEGACY_STORAGES["LongStorage"]
ShortStorage = LEGACY_STORAGES["ShortStorage"]


def is_storage(obj: object, /) -> bool:
    """Return whether `obj` is a storage, typed or not."""
    return isinstance(obj, UntypedStorage | TypedStorage)
