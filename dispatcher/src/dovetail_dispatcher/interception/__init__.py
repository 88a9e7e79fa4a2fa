"""Modes, `__torch_function__` and `__torch_dispatch__`: how calls are intercepted before a kernel
runs.

May import `table` and what lies below.
"""

from .intercepted_functions import OVERRIDABLE
from .mode_stacks import function_modes
from .overrides import SKIPS, call_overrides, has_override, overriding, refuse_override
from .python_dispatch import python_fallback

__all__ = [
    "OVERRIDABLE",
    "SKIPS",
    "call_overrides",
    "function_modes",
    "has_override",
    "overriding",
    "python_fallback",
    "refuse_override",
]
