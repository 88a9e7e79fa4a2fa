"""Training in several processes is the subject of another package."""

from __future__ import annotations

from typing import Any

from ..module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """Refused with RuntimeError: gradients are averaged over processes by dovetail-mpi."""

    def __init__(self, module: Module, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(
            "DistributedDataParallel is not in Dovetail: there are no process groups. To average "
            "gradients over processes use dovetail-mpi; in one process call the module itself."
        )
