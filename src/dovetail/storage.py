"""Storages by the path ``torch.storage``."""

import dovetail_aten as _aten
from dovetail_aten import TypedStorage, UntypedStorage
from dovetail_kernel import Storage as _StorageBase  # noqa: F401 - PyTorch's name of the base
from dovetail_kernel import dtype as _dtype

__all__ = ["TypedStorage", "UntypedStorage"]


def _dtype_to_storage_type_map() -> dict[_dtype, str]:
    """Return the names of the classes of typed storages by dtype."""
    names = [name for name in dir(_aten) if name.endswith("Storage")]
    kinds = {name: getattr(getattr(_aten, name), "dtype", None) for name in names}
    return {kind: name for name, kind in kinds.items() if isinstance(kind, _dtype)}
