"""The CPU backend of Dovetail: NumPy arrays behind the base library's tensors."""

from __future__ import annotations

import numpy as np

from dovetail_kernel import BackendSpec, hookimpl

from .arrays import CpuArrays

__all__ = ["CpuArrays", "dovetail_backend"]


def _load() -> None:
    from dovetail_aten.backends import register_backend

    from .elementary import define_elementary
    from .fast_kernels import FAST_FAMILIES

    register_backend("cpu", np, CpuArrays, kernels=(define_elementary,), families=FAST_FAMILIES)


@hookimpl
def dovetail_backend() -> BackendSpec:
    """Return the description of the cpu backend."""
    return BackendSpec("cpu", _load)
