"""What ``torch.distributed`` says where processes do not work together: it is not available.

Where dovetail-mpi is installed, its module takes the place of this one.
"""

from __future__ import annotations

import typing as _typing
from collections.abc import Callable as _Callable

from ..names.missing import names_of as _names_of
from ..names.provided_modules import give_place as _give_place

__all__ = [
    "ProcessGroup",
    "ReduceOp",
    "is_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
]

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


def is_gloo_available() -> bool:
    """Return False, as the two below: processes work together through MPI."""
    return False


is_mpi_available = is_nccl_available = is_torchelastic_launched = is_gloo_available


class ReduceOp:
    """How the values of several processes become one, for programs that name it at the top."""

    SUM, AVG, PRODUCT, MIN, MAX = "SUM", "AVG", "PRODUCT", "MIN", "MAX"
    BAND, BOR, BXOR = "BAND", "BOR", "BXOR"


class ProcessGroup:
    """Processes that work together, for programs that annotate with it; none can be made.

    Raises
    ------
    RuntimeError
        When it is called; says what to install.
    """

    def __init__(self, *arguments: _typing.Any) -> None:
        raise _refusal("ProcessGroup")


_CALLS = frozenset(
    [
        "all_gather",
        "all_gather_into_tensor",
        "all_gather_object",
        "all_reduce",
        "all_to_all",
        "all_to_all_single",
        "barrier",
        "batch_isend_irecv",
        "broadcast",
        "broadcast_object_list",
        "destroy_process_group",
        "gather",
        "gather_object",
        "get_backend",
        "get_process_group_ranks",
        "get_rank",
        "get_world_size",
        "init_process_group",
        "irecv",
        "isend",
        "monitored_barrier",
        "new_group",
        "recv",
        "reduce",
        "reduce_scatter",
        "reduce_scatter_tensor",
        "scatter",
        "scatter_object_list",
        "send",
    ]
)
"""Functions that programs import at their top, and call only where processes work together."""


def _refusal(name: str) -> RuntimeError:
    return RuntimeError(f"dovetail.distributed.{name}: processes do not work together. {_REMEDY}")


def _refused(name: str) -> _Callable[..., _typing.NoReturn]:
    """Return the function `name`, which says what to install when it is called."""

    def call(*args: _typing.Any, **kwargs: _typing.Any) -> _typing.NoReturn:
        raise _refusal(name)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = "Refuse with RuntimeError: processes do not work together."
    return call


if _typing.TYPE_CHECKING:

    def __getattr__(name: str) -> _typing.Any: ...  # what dovetail-mpi has

else:
    _other = _names_of(
        __name__, ("constants", "device_mesh", "nn", "optim", "rpc", "tensor"), remedy=_REMEDY
    )

    def __getattr__(name: str) -> _typing.Any:
        return globals().setdefault(name, _refused(name)) if name in _CALLS else _other(name)


_give_place(__name__)
