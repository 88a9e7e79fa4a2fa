"""What ``torch.distributed`` says where processes do not work together: it is not available.

Where dovetail-mpi is installed, its module takes the place of this one.
"""

from __future__ import annotations

import typing as _typing

from ..absent_names import names_of as _names_of

__all__ = ["is_available", "is_initialized"]

_REMEDY = (
    "dovetail-mpi has it. Install it from where dovetail came from (plugins/mpi in a clone), and "
    "an MPI: pip install mpich; start the program with mpiexec -n 2 python program.py"
)


def is_available() -> bool:
    """Return False: the processes of a program do not know each other."""
    return False


def is_initialized() -> bool:
    """Return False: no group of processes was made."""
    return False


if _typing.TYPE_CHECKING:

    def __getattr__(name: str) -> _typing.Any: ...  # what dovetail-mpi has

else:
    __getattr__ = _names_of(__name__, ("nn",), remedy=_REMEDY)
