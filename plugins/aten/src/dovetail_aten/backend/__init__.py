"""Makes a backend out of an array namespace: arrays, generators, registration, fallback.

May import `kernel_support`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dovetail_kernel import names_on_demand

from .devices import ready_backend
from .generator import default_generator
from .matmul_precision import tell_tf32

if TYPE_CHECKING:
    from .error_state import find_error_state
    from .namespace_arrays import NamespaceArrays
    from .wrapped_numbers import number_as

__all__ = [
    "NamespaceArrays",
    "default_generator",
    "find_error_state",
    "number_as",
    "ready_backend",
    "tell_tf32",
]

__getattr__ = names_on_demand(
    __name__,
    {
        "error_state": ("find_error_state",),
        "namespace_arrays": ("NamespaceArrays",),
        "wrapped_numbers": ("number_as",),
    },
)
