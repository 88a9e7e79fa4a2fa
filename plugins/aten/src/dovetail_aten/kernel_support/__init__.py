"""What the array kernels of the families stand on, and their tables. Array kernels are written
once against an array namespace; every backend registers them for itself.

They are methods of classes that hold the namespace: see `Family`. They never
write to an argument, never use ``out=`` or item assignment, give optional arguments of the
namespace's functions by keyword, and return new arrays unless their operator is a view. What a
namespace does not offer that way comes from the backend's `Capabilities`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .capabilities import Capabilities
from .dims import wrap_dim, wrap_dims
from .family import Family
from .operands import Numbers, Precision
from .table import ArrayKernel, Function, KernelTable

if TYPE_CHECKING:
    from .families import (
        FAMILIES,
        Define,
        array_kernel_table,
        expect_family,
        family_class,
        register_array_kernels,
    )

__all__ = [
    "FAMILIES",
    "ArrayKernel",
    "Capabilities",
    "Define",
    "Family",
    "Function",
    "KernelTable",
    "Numbers",
    "Precision",
    "array_kernel_table",
    "expect_family",
    "family_class",
    "register_array_kernels",
    "wrap_dim",
    "wrap_dims",
]

_OF_FAMILIES = (
    "FAMILIES",
    "Define",
    "array_kernel_table",
    "expect_family",
    "family_class",
    "register_array_kernels",
)


def __getattr__(name: str) -> Any:
    if name in _OF_FAMILIES:  # imported with the first backend
        return getattr(import_module(f"{__name__}.families"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
