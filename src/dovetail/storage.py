"""Storages by the path ``torch.storage``."""

from dovetail_aten import TypedStorage, UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
