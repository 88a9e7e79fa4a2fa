"""The setting ``torch.utils.deterministic.fill_uninitialized_memory``.

Attributes
----------
fill_uninitialized_memory
    Whether `use_deterministic_algorithms` also fills the memory of ``empty``, ``empty_like``,
    ``empty_strided``, ``resize_`` and their kin: with NaN, the greatest integer, or True.
    Default: True.
"""

from __future__ import annotations

import sys
from types import ModuleType

from dovetail_kernel import UNINITIALIZED

__all__ = ["fill_uninitialized_memory"]  # noqa: F822 - a property of the module's class


class _Settings(ModuleType):
    """A Python module whose attribute is a setting of the kernels."""

    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether memory is filled."""
        return UNINITIALIZED.fill

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise RuntimeError(f"expected a bool, but got {type(value).__name__}")
        UNINITIALIZED.change(fill=value)


sys.modules[__name__].__class__ = _Settings
