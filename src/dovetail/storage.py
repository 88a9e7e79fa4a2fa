"""Storages by the path ``torch.storage``."""

from dovetail_aten import TypedStorage, UntypedStorage
from dovetail_kernel import Storage as _StorageBase  # noqa: F401 - PyTorch's name of the base

__all__ = ["TypedStorage", "UntypedStorage"]
