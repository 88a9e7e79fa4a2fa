"""What happens when the cpu backend is loaded: its arrays are attached, and its kernels registered at key CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dovetail_aten  # noqa: F401  (defines the operators)
import numpy as np
from dovetail_aten.array_kernels import register_array_kernels
from dovetail_dispatcher import Library
from dovetail_dispatcher.array_kernels import add_helpers
from dovetail_kernel import backend

from .arrays import CpuArrays
from .capabilities import CpuCapabilities
from .silence import silent

Function = Callable[..., Any]


class _SilentLibrary:
    """A library whose kernels do not warn."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def array_impl(
        self, op_name: str, fn: Function, *, plain: Function | None = None, into: Function | None = None
    ) -> None:
        """Register a kernel and its faster forms."""
        known = {function: silent(function) for function in (fn, plain, into) if function is not None}
        self._library.array_impl(
            op_name, known[fn], plain=None if plain is None else known[plain], into=None if into is None else known[into]
        )


_libraries: list[Library] = []
"""Keeps the registrations alive."""


def load() -> None:
    """Attach the arrays and register the kernels."""
    cpu, arrays = backend("cpu"), CpuArrays()
    library = Library("aten", "IMPL", "CPU")
    helpers = register_array_kernels(_SilentLibrary(library), np, CpuCapabilities(arrays))
    cpu.attach(arrays)
    add_helpers(cpu, {name: silent(helper) for name, helper in helpers.items()})
    _libraries.append(library)
