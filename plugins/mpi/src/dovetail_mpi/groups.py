"""The processes of a program and their groups: `init_process_group`, `new_group`, ranks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import timedelta
from importlib.util import find_spec
from typing import Any, Final

from .exits import watch_exit
from .process_group import Communicators, ProcessGroup

default_pg_timeout: Final = timedelta(minutes=30)
_NOT_A_MEMBER: Final = -100

_world: ProcessGroup | None = None
_communicators: Communicators | None = None
"""Those of all processes: made once, used by one default group after another."""
_generation = 0


class _World(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:  # noqa: N802 - PyTorch's name
        """The default group: all processes. None before `init_process_group`."""
        return _world


class group(metaclass=_World):  # noqa: N801 - PyTorch's name
    """``group.WORLD`` is the default group: all processes."""


class GroupMember(metaclass=_World):
    """``GroupMember.WORLD`` is the default group. `new_group` returns `NON_GROUP_MEMBER` in
    processes that are not members.
    """

    NON_GROUP_MEMBER: Final = _NOT_A_MEMBER


def is_available() -> bool:
    """Return whether mpi4py is installed."""
    return find_spec("mpi4py") is not None


is_mpi_available = is_available


def is_initialized() -> bool:
    """Return whether `init_process_group` was called, without `destroy_process_group` since."""
    return _world is not None


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: object = None,
    group_name: str = "",
    pg_options: object = None,
    device_id: object = None,
) -> None:
    """Create the default group, of all processes that ``mpiexec`` started.

    Parameters
    ----------
    backend : "mpi", optional
    timeout : timedelta, default 30 minutes
        How long a process waits for another one in a collective. `DistBackendError` then names the
        missing processes; no process can continue, and the program ends.
    world_size, rank : int, optional
        Expected values; an error is raised if those of MPI differ.
    init_method, store, group_name, pg_options, device_id : optional
        Accepted for compatibility; ``mpiexec`` connects the processes.

    Raises
    ------
    ValueError
        For any other backend, or if the default group already exists.
    RuntimeError
        If MPI cannot be loaded.
    """
    global _world, _communicators, _generation
    if _world is not None:
        raise ValueError(
            "trying to initialize the default process group twice! Call destroy_process_group() "
            "first."
        )
    if backend not in (None, "mpi"):
        raise ValueError(
            f"backend {backend!r} is not in Dovetail: processes work together through MPI. Pass "
            "'mpi', and start the program with: mpiexec -n 4 python program.py"
        )
    limit = _seconds(timeout)
    everyone = _mpi().COMM_WORLD
    for name, given, real in (
        ("world_size", world_size, everyone.size),
        ("rank", rank, everyone.rank),
    ):
        if given not in (-1, real):
            raise ValueError(
                f"{name}={given}, but mpiexec made this rank {everyone.rank} of {everyone.size}. "
                "Leave it out, or start as many processes: mpiexec -n N python program.py"
            )
    if _communicators is None:
        _communicators = Communicators.like(everyone)
    _generation += 1
    ranks = tuple(range(everyone.size))
    _world = ProcessGroup(_communicators, ranks, limit, group_name or "world", _generation)
    watch_exit(_world)


def _mpi() -> Any:
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise RuntimeError(
            f"MPI cannot be loaded ({error}). Install one: pip install mpi4py mpich, or "
            "the MPI of your machine, which mpi4py finds as libmpi"
        ) from error
    return MPI


def _seconds(timeout: timedelta | None) -> float:
    if timeout is None:
        timeout = default_pg_timeout
    if not isinstance(timeout, timedelta):
        raise TypeError(
            f"Expected timeout argument to be of type datetime.timedelta, got {timeout!r}"
        )
    if timeout <= timedelta(0):
        raise ValueError(f"timeout should be positive, not {timeout}")
    return timeout.total_seconds()


def resolved(chosen: ProcessGroup | int | None) -> ProcessGroup | None:
    """Return a group that was given to a function, the default one for None, or None if this
    process is not in it. Raises ValueError if there is no default group, and TypeError for anything
    else.
    """
    if chosen is None:
        if _world is None:
            raise ValueError(
                "Default process group has not been initialized, please make sure to call "
                "init_process_group."
            )
        return _world
    if isinstance(chosen, ProcessGroup):
        return chosen
    if chosen == _NOT_A_MEMBER:
        return None
    raise TypeError(f"group should be what new_group() returned, or None, not {chosen!r}")


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """Leave a group; None leaves the default group and all others. Processes that wait for this one
    are notified.
    """
    global _world
    leaving = resolved(group)
    if leaving is None:
        return
    was_usable = leaving.failure is None
    leaving.close()
    if leaving is _world:
        _world = None
    elif was_usable:
        for communicator in leaving.communicators:
            communicator.Free()


def get_rank(group: ProcessGroup | None = None) -> int:
    """Return the rank of this process in a group; -1 if it is not in it."""
    found = resolved(group)
    return -1 if found is None else found.rank()


def get_world_size(group: ProcessGroup | None = None) -> int:
    """Return how many processes are in a group; -1 if this one is not in it."""
    found = resolved(group)
    return -1 if found is None else found.size()


def get_backend(group: ProcessGroup | None = None) -> str:
    """Return "mpi".

    Raises
    ------
    ValueError
        If this process is not in the group.
    """
    return _member(group).name()


def _member(group: ProcessGroup | None) -> ProcessGroup:
    found = resolved(group)
    if found is None:
        raise ValueError("Invalid process group specified: this process is not in it")
    return found


member = _member


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """Return the ranks of the members of a group among all processes, in the order of the group."""
    return list(_member(group).ranks)


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """Return the rank in `group` of the process with rank `global_rank` among all."""
    ranks = _member(group).ranks
    if global_rank not in ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return ranks.index(global_rank)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """Return the rank among all processes of the process with rank `group_rank` in `group`."""
    ranks = _member(group).ranks
    if not 0 <= group_rank < len(ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return ranks[group_rank]


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """Return the rank of this process among the processes of its machine.

    Raises
    ------
    RuntimeError
        If the environment of the launcher does not define it, and `fallback_rank` is None.
    """
    for name in ("LOCAL_RANK", "MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK"):
        if name in os.environ:
            return int(os.environ[name])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Start with mpiexec, or pass fallback_rank"
    )


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: object = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: object = None,
    sort_ranks: bool = True,
) -> Any:
    """Create a group of some processes. All processes must call this function, in the same order.

    Parameters
    ----------
    ranks : sequence of int, optional
        Ranks of the members. Default: all.
    timeout : timedelta, optional
        As in `init_process_group`. Default: the timeout of the default group.
    sort_ranks : bool, default True
        Whether the members are ordered by their ranks among all processes, instead of the order of
        `ranks`.
    use_local_synchronization : bool, default False
        Whether only the members call this function.
    group_desc : str, optional
        A name for error messages.
    backend, pg_options, device_id : optional
        Accepted for compatibility.

    Returns
    -------
    ProcessGroup or int
        The group, or ``GroupMember.NON_GROUP_MEMBER`` in processes that are not members.
    """
    global _generation
    everyone = _member(None)
    if backend not in (None, "mpi"):
        raise ValueError(f"backend {backend!r} is not in Dovetail; pass 'mpi' or nothing")
    members = list(range(everyone.size())) if ranks is None else [int(each) for each in ranks]
    if len(set(members)) != len(members) or not members:
        raise ValueError(f"a group has each rank once, and one at least; not {members}")
    for each in members:
        if not 0 <= each < everyone.size():
            raise ValueError(
                f"The new group's rank should be within the world_size {everyone.size()}, not "
                f"{each}"
            )
    if sort_ranks:
        members.sort()
    limit = everyone.timeout if timeout is None else _seconds(timeout)
    everyone.check_usable()
    _generation += 1
    chosen = everyone.communicators.meeting.Get_group().Incl(members)
    if use_local_synchronization:
        if everyone.rank() not in members:
            return _NOT_A_MEMBER
        communicator = everyone.communicators.meeting.Create_group(chosen)
    else:
        communicator = everyone.communicators.meeting.Create(chosen)
    if everyone.rank() not in members:
        return _NOT_A_MEMBER
    name = group_desc or f"group {_generation - 1}"
    communicators = Communicators.like(communicator)
    communicator.Free()
    made = ProcessGroup(communicators, tuple(members), limit, name, _generation)
    watch_exit(made)
    return made


def new_subgroups(
    group_size: int | None = None,
    group: ProcessGroup | None = None,
    timeout: timedelta | None = None,
) -> tuple[Any, list[Any]]:
    """Split all processes into groups of `group_size` consecutive ranks.

    Returns
    -------
    tuple
        The group of this process, and all groups.
    """
    world = get_world_size(group)
    size = world if group_size is None else group_size
    if not 0 < size <= world or world % size:
        raise ValueError(f"The arg 'group_size' ({size}) must divide the world size ({world})")
    return new_subgroups_by_enumeration(
        [list(range(first, first + size)) for first in range(0, world, size)], timeout
    )


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]], timeout: timedelta | None = None
) -> tuple[Any, list[Any]]:
    """Split the processes into the listed groups.

    Returns
    -------
    tuple
        The group of this process, or None, and all groups.
    """
    flat = [rank for ranks in ranks_per_subgroup_list for rank in ranks]
    if len(set(flat)) != len(flat) or not flat:
        raise ValueError(f"each rank may be in one subgroup, not {ranks_per_subgroup_list}")
    made = [new_group(ranks, timeout) for ranks in ranks_per_subgroup_list]
    mine = next(iter([each for each in made if each != _NOT_A_MEMBER]), None)
    return mine, made
