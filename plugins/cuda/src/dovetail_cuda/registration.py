"""What happens when the cuda backend is loaded: its arrays are attached, and its kernels registered at key CUDA."""

from __future__ import annotations

import cupy

import dovetail_aten  # noqa: F401  (defines the operators)
from dovetail_aten.array_kernels import register_array_kernels
from dovetail_dispatcher import Library
from dovetail_dispatcher.array_kernels import add_helpers
from dovetail_kernel import backend

from .arrays import CudaArrays
from .capabilities import CudaCapabilities

_libraries: list[Library] = []
"""Keeps the registrations alive."""


def load() -> None:
    """Attach the arrays and register the kernels."""
    cuda, arrays = backend("cuda"), CudaArrays()
    library = Library("aten", "IMPL", "CUDA")
    helpers = register_array_kernels(library, cupy, CudaCapabilities())
    cuda.attach(arrays)
    add_helpers(cuda, helpers)
    _libraries.append(library)
