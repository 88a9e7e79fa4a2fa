"""The class of compiled modules by PyTorch's path, for ``isinstance``: there are none."""

from __future__ import annotations

from typing import Any

from ..nn import Module

__all__ = ["OptimizedModule"]


class OptimizedModule(Module):
    """A module that was compiled. Making one raises RuntimeError: modules run as they stand."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(
            "Nothing is compiled: use the module as it is, or as dovetail.compile returns it."
        )
