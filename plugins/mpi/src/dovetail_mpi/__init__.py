"""``dovetail.distributed``: processes that work together through MPI, with the names of
``torch.distributed``.

Start a program with ``mpiexec -n 4 python program.py``::

    import dovetail.distributed as dist

    dist.init_process_group("mpi")
    model = dovetail.nn.parallel.DistributedDataParallel(model)

MPI is loaded by `init_process_group`. If another process does not take part in a transfer, an error
names that process, at the latest after the timeout of the group.
"""

# ruff: noqa: F401 - imported for others
# mypy: implicit-reexport

from types import ModuleType as _ModuleType

from dovetail.names.missing import names_of as _names_of

from . import algorithms, nn, optim
from .checkpoints import load_checkpoint, save_checkpoint
from .collectives.barriers import barrier, monitored_barrier
from .collectives.copies import all_gather, all_gather_into_tensor, broadcast, gather, scatter
from .collectives.exchanges import all_to_all, all_to_all_single
from .collectives.messages import P2POp, batch_isend_irecv, irecv, isend, recv, send
from .collectives.objects import (
    all_gather_object,
    broadcast_object_list,
    gather_object,
    recv_object_list,
    scatter_object_list,
    send_object_list,
)
from .collectives.reductions import (
    all_reduce,
    all_reduce_coalesced,
    reduce,
    reduce_scatter,
    reduce_scatter_tensor,
)
from .data_parallel import DistributedDataParallel, GradBucket
from .debug_level import DebugLevel, get_debug_level, set_debug_level, set_debug_level_from_env
from .errors import DistBackendError, DistError
from .groups import (
    GroupMember,
    default_pg_timeout,
    destroy_process_group,
    get_backend,
    get_global_rank,
    get_group_rank,
    get_node_local_rank,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    group,
    init_process_group,
    is_available,
    is_initialized,
    is_mpi_available,
    new_group,
    new_subgroups,
    new_subgroups_by_enumeration,
)
from .process_group import ProcessGroup
from .reduce_op import ReduceOp
from .work import Future, Work


def is_gloo_available() -> bool:
    """Return False: processes communicate through MPI."""
    return False


def is_nccl_available() -> bool:
    """Return False: processes communicate through MPI."""
    return False


def is_torchelastic_launched() -> bool:
    """Return False: ``mpiexec`` starts the processes."""
    return False


# What is imported and defined here: of modules those that PyTorch has.
__all__ = ["algorithms", "nn", "optim"]
__all__ += [
    name
    for name, value in globals().items()
    if name[0] != "_" and not isinstance(value, _ModuleType)
]
__getattr__ = _names_of(
    "dovetail.distributed", ("constants", "device_mesh", "rpc", "tensor"), namespace=globals()
)
