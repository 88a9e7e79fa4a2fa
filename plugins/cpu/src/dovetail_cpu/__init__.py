"""The CPU backend of Dovetail: NumPy arrays behind the base library's tensors."""

from __future__ import annotations

import numpy as np

from dovetail_kernel import BackendSpec, hookimpl

from .arrays import CpuArrays
from .capabilities import CpuCapabilities

__all__ = ["CpuArrays", "CpuCapabilities", "dovetail_backend"]


def _load() -> None:
    from .registration import load

    load()


@hookimpl
def dovetail_backend() -> BackendSpec:
    """Return the description of the cpu backend."""
    return BackendSpec("cpu", _load, array_types=(np.ndarray,))
