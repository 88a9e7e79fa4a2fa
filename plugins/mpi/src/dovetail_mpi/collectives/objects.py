"""Collectives of any Python objects, which are pickled. Receive objects only from processes you
trust.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail_kernel import DeviceLike

from ..process_group import ProcessGroup
from .arguments import for_members, whole_rank

Group = ProcessGroup | None
Bytes = NDArray[np.uint8]


def _run(group: ProcessGroup, call: str, size: int, start: Callable[[], object]) -> None:
    group.begin(call, size, start).wait()


def _pickled(obj: object) -> Bytes:
    return np.frombuffer(bytearray(pickle.dumps(obj, pickle.HIGHEST_PROTOCOL)), np.uint8)


def _lengths(group: ProcessGroup, function: str, mine: int) -> NDArray[np.int64]:
    """Return a number of each rank, by rank."""
    given, found = np.array([mine]), np.empty(group.size(), np.int64)
    _run(
        group,
        f"{function}: lengths",
        8,
        lambda: group.communicators.collecting.Iallgather(given, found),
    )
    return found


def _objects(joined: Bytes, lengths: NDArray[np.int64]) -> list[Any]:
    return [pickle.loads(part.data) for part in np.split(joined, np.cumsum(lengths)[:-1])]


@for_members
def all_gather_object(object_list: list[object], obj: Any, group: Group = None) -> None:
    """Collect an object of each rank into `object_list`, a list with one item per rank."""
    assert group is not None
    _check_places(object_list, "object_list", group.size())
    object_list[:] = gathered("all_gather_object", obj, group)


def gathered(function: str, obj: object, group: ProcessGroup) -> list[Any]:
    """Return an object of each rank, by rank."""
    given = _pickled(obj)
    lengths = _lengths(group, function, given.size)
    room = np.empty(int(lengths.sum()), np.uint8)

    def start() -> Any:
        return group.communicators.collecting.Iallgatherv(given, [room, lengths.tolist()])

    _run(group, function, given.nbytes, start)
    return _objects(room, lengths)


def _check_places(places: object, name: str, count: int) -> None:
    if not isinstance(places, list) or len(places) != count:
        raise ValueError(f"{name} should be a list of {count}, not {places!r:.60}")


@for_members
def gather_object(
    obj: object,
    object_gather_list: list[object] | None = None,
    dst: int | None = None,
    group: Group = None,
    group_dst: int | None = None,
) -> None:
    """Collect an object of each rank into the list of rank `dst`; the other ranks pass None."""
    assert group is not None
    root = whole_rank(group, dst, group_dst, "dst")
    here = group.rank() == root
    if here:
        _check_places(object_gather_list, "object_gather_list", group.size())
    elif object_gather_list:
        raise ValueError(
            "Argument ``object_gather_list`` must NOT be specified on non-destination ranks."
        )
    given = _pickled(obj)
    lengths = _lengths(group, "gather_object", given.size)
    room = np.empty(int(lengths.sum()) if here else 0, np.uint8)

    def start() -> Any:
        into = [room, lengths.tolist()] if here else None
        return group.communicators.copying.Igatherv(given, into, root)

    _run(group, "gather_object", given.nbytes, start)
    if here and object_gather_list is not None:
        object_gather_list[:] = _objects(room, lengths)


@for_members
def broadcast_object_list(
    object_list: Sequence[object],
    src: int | None = None,
    group: Group = None,
    device: DeviceLike | None = None,
    group_src: int | None = None,
) -> None:
    """Copy the objects of rank `src` into the lists of all ranks, which have the same length.

    `device` is accepted for compatibility.
    """
    assert group is not None
    if not isinstance(object_list, list):
        raise TypeError(f"object_list should be a list, not {type(object_list)}")
    root = whole_rank(group, src, group_src, "src")
    here = group.rank() == root
    given = _pickled(object_list if here else None)
    length = int(_lengths(group, "broadcast_object_list", given.size)[root])
    room = given if here else np.empty(length, np.uint8)
    size = room.nbytes if here else 0
    _run(
        group, "broadcast_object_list", size, lambda: group.communicators.copying.Ibcast(room, root)
    )
    if not here:
        came = pickle.loads(room.data)
        if len(came) != len(object_list):
            raise RuntimeError(
                f"broadcast_object_list: {len(came)} objects came into a list of "
                f"{len(object_list)}; give lists of one length on all ranks"
            )
        object_list[:] = came


@for_members
def scatter_object_list(
    scatter_object_output_list: object,
    scatter_object_input_list: Sequence[object] | None = None,
    src: int | None = None,
    group: Group = None,
    group_src: int | None = None,
) -> None:
    """Send each rank one object of the list of rank `src`, as the first item of its output list."""
    assert group is not None
    if not (scatter_object_output_list and isinstance(scatter_object_output_list, list)):
        raise ValueError(
            "Expected argument scatter_object_output_list to be a list of size at least 1."
        )
    root = whole_rank(group, src, group_src, "src")
    here = group.rank() == root
    parts: list[Bytes] = []
    if here:
        _check_places(scatter_object_input_list, "scatter_object_input_list", group.size())
        parts = [_pickled(each) for each in scatter_object_input_list or ()]
    lengths = np.array([part.size for part in parts] or [0] * group.size(), np.int64)
    _run(
        group,
        "scatter_object_list: lengths",
        8,
        lambda: group.communicators.copying.Ibcast(lengths, root),
    )
    room = np.empty(int(lengths[group.rank()]), np.uint8)
    joined = np.concatenate(parts) if here else None

    def start() -> Any:
        given = [joined, lengths.tolist()] if here else None
        return group.communicators.copying.Iscatterv(given, room, root)

    _run(group, "scatter_object_list", 0 if joined is None else joined.nbytes, start)
    scatter_object_output_list[0] = pickle.loads(room.data)


@for_members
def send_object_list(
    object_list: Sequence[object],
    dst: int | None = None,
    group: Group = None,
    device: DeviceLike | None = None,
    group_dst: int | None = None,
) -> None:
    """Send objects to rank `dst`, which calls `recv_object_list`."""
    assert group is not None
    peer = whole_rank(group, dst, group_dst, "dst")
    given = _pickled(object_list)
    for array in (np.array([given.size]), given):
        _message(group, "send_object_list", array, peer, group.communicators.reducing.Isend)


@for_members
def recv_object_list(
    object_list: list[object],
    src: int | None = None,
    group: Group = None,
    device: DeviceLike | None = None,
    group_src: int | None = None,
) -> int:
    """Receive the objects of rank `src` into a list of the same length; return the rank of the
    sender.
    """
    assert group is not None
    peer = whole_rank(group, src, group_src, "src")
    length = np.empty(1, np.int64)
    _message(group, "recv_object_list", length, peer, group.communicators.reducing.Irecv)
    room = np.empty(int(length[0]), np.uint8)
    _message(group, "recv_object_list", room, peer, group.communicators.reducing.Irecv)
    object_list[:] = pickle.loads(room.data)
    return group.ranks[peer]


def _message(
    group: ProcessGroup, call: str, array: NDArray[Any], peer: int, begin: Callable[..., Any]
) -> None:
    group.begin_message(call, array.nbytes, lambda: begin(array, peer, _OBJECTS), peer).wait()


_OBJECTS = 32_000
"""The tag of messages with objects, beside the tags of the program."""
