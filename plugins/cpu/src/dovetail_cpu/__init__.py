"""The CPU backend of Dovetail: NumPy arrays for the base library's tensors."""

from __future__ import annotations

import numpy as np

from dovetail_kernel import BackendSpec, forward_old_places, hookimpl, publish

from .arrays import CpuArrays
from .memory.shared_pages import nameless_file
from .parallel.threads import get_num_threads, set_num_threads

__all__ = ["CpuArrays", "dovetail_backend", "get_num_threads", "nameless_file", "set_num_threads"]
forward_old_places(__name__, f"{__name__}.old_places")
publish(__name__)


def _load() -> None:
    from dovetail_aten.backends import register_backend

    from .kernels.table import FAST_FAMILIES, define_whole_composites
    from .memory.malloc import keep_freed_memory

    keep_freed_memory()
    kernels = (define_whole_composites,)
    register_backend("cpu", np, CpuArrays, kernels=kernels, families=FAST_FAMILIES)


@hookimpl
def dovetail_backend() -> BackendSpec:
    """Return the description of the cpu backend."""
    return BackendSpec("cpu", _load)
