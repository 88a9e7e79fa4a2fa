"""Collectives that copy tensors between ranks: `broadcast`, `gather`, `scatter` and others.

Each begins without waiting; ``async_op=True`` returns its `Work`. Contiguous tensors on the CPU are
transferred without a copy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..host_arrays import HostArray
from ..process_group import ProcessGroup
from ..work import Work
from .arguments import check_same, check_tensor, check_tensors, for_members, shown, whole_rank
from .collective_calls import Group, Tensor, begun, check_parts, room_for, unpack


@for_members
def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: Group = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Copy the tensor of rank `src` into the tensors of all ranks. All have the same shape and
    dtype.
    """
    check_tensor(tensor, "tensor")
    assert group is not None
    root = whole_rank(group, src, group_src, "src")
    host = HostArray(tensor)
    here = group.rank() == root

    def start() -> Any:
        return group.communicators.copying.Ibcast(host.array, root)

    call = shown("broadcast", tensor, f"src={root}")
    given = host.array.nbytes if here else 0
    finish = (lambda: None) if here else host.store
    return begun(group, call, given, start, finish, [tensor], async_op)


@for_members
def all_gather(
    tensor_list: list[Tensor], tensor: Tensor, group: Group = None, async_op: bool = False
) -> Work | None:
    """Collect the tensors of all ranks into `tensor_list`, ordered by rank.

    All tensors have the same shape and dtype. `all_gather_into_tensor` copies less.
    """
    check_tensor(tensor, "tensor")
    assert group is not None
    check_tensors(tensor_list, "tensor_list", group.size())
    check_same(tensor_list, tensor, "tensor_list")
    host = HostArray(tensor)
    room = room_for(host.array, group.size())

    def start() -> Any:
        return group.communicators.collecting.Iallgather(host.array, room)

    def finish() -> None:
        unpack(tensor_list, room)

    call = shown("all_gather", tensor)
    return begun(group, call, host.array.nbytes, start, finish, tensor_list, async_op)


@for_members
def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Group = None, async_op: bool = False
) -> Work | None:
    """Collect the tensors of all ranks into one tensor. The shape of `output_tensor` determines
    whether they are joined along the first dimension or stacked.
    """
    check_tensor(output_tensor, "output_tensor")
    check_tensor(input_tensor, "input_tensor")
    assert group is not None
    check_parts("all_gather_into_tensor", output_tensor, input_tensor, group.size())
    into, host = HostArray(output_tensor), HostArray(input_tensor)

    def start() -> Any:
        return group.communicators.collecting.Iallgather(host.array, into.array)

    call = shown("all_gather_into_tensor", input_tensor)
    return begun(group, call, host.array.nbytes, start, into.store, [output_tensor], async_op)


@for_members
def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: Group = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Collect the tensors of all ranks into the `gather_list` of rank `dst`; the other ranks pass
    None.
    """
    check_tensor(tensor, "tensor")
    assert group is not None
    root = whole_rank(group, dst, group_dst, "dst")
    here = group.rank() == root
    lists = _list_of_root(gather_list, here, tensor, group, "gather_list", "destination")
    host = HostArray(tensor)
    room = room_for(host.array, group.size()) if here else None

    def start() -> Any:
        return group.communicators.copying.Igather(host.array, room, root)

    def finish() -> None:
        if here:
            unpack(lists, room)

    call = shown("gather", tensor, f"dst={root}")
    return begun(group, call, host.array.nbytes, start, finish, lists, async_op)


def _list_of_root(
    given: list[Tensor] | None,
    here: bool,
    tensor: Tensor,
    group: ProcessGroup,
    name: str,
    role: str,
) -> list[Tensor]:
    """Return the list that one rank gives, checked; an empty one on the others."""
    if not here:
        if given:
            raise ValueError(f"Argument ``{name}`` must NOT be specified on non-{role} ranks.")
        return []
    if not given:
        raise ValueError(f"Argument ``{name}`` must be specified on {role} rank.")
    check_tensors(given, name, group.size())
    check_same(given, tensor, name)
    return given


@for_members
def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: Group = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Copy one tensor of the `scatter_list` of rank `src` into the `tensor` of each rank. Only rank
    `src` passes a `scatter_list`.
    """
    check_tensor(tensor, "tensor")
    assert group is not None
    root = whole_rank(group, src, group_src, "src")
    here = group.rank() == root
    lists = _list_of_root(scatter_list, here, tensor, group, "scatter_list", "source")
    into = HostArray(tensor)
    parts = np.stack([HostArray(each).array for each in lists]) if here else None

    def start() -> Any:
        return group.communicators.copying.Iscatter(parts, into.array, root)

    call = shown("scatter", tensor, f"src={root}")
    given = 0 if parts is None else parts.nbytes
    return begun(group, call, given, start, into.store, [tensor], async_op)
