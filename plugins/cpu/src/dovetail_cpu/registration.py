"""What happens when the cpu backend is loaded: its arrays are attached, and its kernels registered at key CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import dovetail_aten  # noqa: F401  (defines the operators)
from dovetail_aten.array_kernels import register_array_kernels
from dovetail_dispatcher import Library, registry
from dovetail_dispatcher.array_kernels import add_helpers
from dovetail_kernel import backend

from .arrays import CpuArrays
from .capabilities import CpuCapabilities
from .fast_kernels import FAST_FAMILIES
from .silence import silent

Function = Callable[..., Any]


class _SilentLibrary:
    """A library whose kernels do not warn."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def array_impl(
        self, op_name: str, fn: Function, *, plain: Function | None = None, into: Function | None = None
    ) -> None:
        """Register a kernel and its faster forms; views compute nothing, so they have nothing to be silent about."""
        base, _, overload = op_name.partition(".")
        operator = registry.find(f"aten::{base}", overload)
        if operator is None or operator.kind != "view":
            fn, plain, into = silent(fn), plain and silent(plain), into and silent(into)
        self._library.array_impl(op_name, fn, plain=plain, into=into)


_libraries: list[Library] = []
"""Keeps the registrations alive."""


def load() -> None:
    """Attach the arrays and register the kernels."""
    cpu, arrays = backend("cpu"), CpuArrays()
    library = Library("aten", "IMPL", "CPU")
    helpers = register_array_kernels(_SilentLibrary(library), np, CpuCapabilities(arrays), FAST_FAMILIES)
    cpu.attach(arrays)
    add_helpers(cpu, {name: silent(helper) for name, helper in helpers.items()})
    _libraries.append(library)
