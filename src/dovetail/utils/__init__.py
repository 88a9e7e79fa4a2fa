"""What does not belong to tensors or operators themselves, as ``torch.utils``; submodules load when first asked for."""

from importlib import import_module as _import_module
from typing import Any

__all__ = ["checkpoint", "dlpack", "hooks"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return _import_module(f"dovetail.utils.{name}")
    raise AttributeError(f"module 'dovetail.utils' has no attribute {name!r}")
