"""What happens when the cpu backend is loaded: its arrays are attached, and its kernels registered at key CPU."""

from __future__ import annotations

import numpy as np

import dovetail_aten  # noqa: F401  (defines the operators)
from dovetail_aten.array_kernels import register_array_kernels
from dovetail_dispatcher import Library
from dovetail_dispatcher.array_kernels import add_helpers
from dovetail_kernel import backend

from .arrays import CpuArrays
from .capabilities import CpuCapabilities
from .fast_kernels import FAST_FAMILIES

_libraries: list[Library] = []
"""Keeps the registrations alive."""


def load() -> None:
    """Attach the arrays and register the kernels."""
    cpu, arrays = backend("cpu"), CpuArrays()
    library = Library("aten", "IMPL", "CPU")
    helpers = register_array_kernels(library, np, CpuCapabilities(arrays), FAST_FAMILIES)
    cpu.attach(arrays)
    add_helpers(cpu, helpers)
    _libraries.append(library)
