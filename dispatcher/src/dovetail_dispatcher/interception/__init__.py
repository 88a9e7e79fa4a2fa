"""Modes, `__torch_function__` and `__torch_dispatch__`: how calls are intercepted before a kernel
runs.

May import `table` and what lies below.
"""

from .overrides import call_overrides, has_override, overriding
from .python_dispatch import python_fallback

__all__ = ["call_overrides", "has_override", "overriding", "python_fallback"]
