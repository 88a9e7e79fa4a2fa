"""The container that `Module` has replaced."""

from __future__ import annotations

import warnings
from typing import Any

from .module import Module

__all__ = ["Container"]


class Container(Module):
    """Has the modules that it is given, by name; deprecated."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()
        warnings.warn(
            "`nn.Container` is deprecated. All of its functionality is now implemented in "
            "`nn.Module`. Subclass that instead.",
            FutureWarning,
            stacklevel=2,
        )
        for name, module in kwargs.items():
            self.add_module(name, module)
