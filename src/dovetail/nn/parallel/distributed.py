"""`DistributedDataParallel` of dovetail-mpi; without that package, a class whose constructor raises
an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...names.provided_modules import provided
from ..modules.module import Module

__all__ = ["DistributedDataParallel"]


class _Refused(Module):
    """Refused with RuntimeError: gradients are averaged over processes by dovetail-mpi."""

    def __init__(self, module: Module, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(
            "DistributedDataParallel averages gradients over processes, which dovetail-mpi does. "
            "Install it from where dovetail came from (plugins/mpi in a clone), and an MPI: pip "
            "install mpich; start the program with mpiexec -n 2 python program.py. In one "
            "process call the module itself."
        )


_Refused.__name__ = _Refused.__qualname__ = "DistributedDataParallel"

if TYPE_CHECKING:
    DistributedDataParallel = _Refused
else:
    _module = provided("distributed")
    DistributedDataParallel = _Refused if _module is None else _module.DistributedDataParallel
