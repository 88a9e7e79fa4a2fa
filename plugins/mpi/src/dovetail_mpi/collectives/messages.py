"""Messages from one process to another: `send`, `recv`, `isend`, `irecv`, `batch_isend_irecv`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import dovetail

from ..groups import member
from ..host_arrays import HostArray
from ..process_group import ProcessGroup
from ..work import Work
from .arguments import check_tensor, for_members, shown, whole_rank

Group = ProcessGroup | None


@for_members
def isend(
    tensor: dovetail.Tensor,
    dst: int | None = None,
    group: Group = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> Work | None:
    """Begin to send a tensor to rank `dst`. Do not modify the tensor before `Work.wait` returns.

    Parameters
    ----------
    tensor : Tensor
    dst, group_dst : int
        Rank of the receiver, among all processes or in the group.
    group : ProcessGroup, optional
    tag : int, default 0
        The tag that the receiver passes.
    """
    check_tensor(tensor, "tensor")
    assert group is not None
    peer = _other(group, dst, group_dst, "dst", "destination")
    host = HostArray(tensor)

    def start() -> Any:
        return group.communicators.reducing.Isend(host.array, peer, tag)

    call = shown("send", tensor, f"dst={peer}", f"tag={tag}")
    return Work(group.begin_message(call, host.array.nbytes, start, peer), lambda: None, [tensor])


def _other(
    group: ProcessGroup, rank: int | None, group_rank: int | None, name: str, role: str
) -> int:
    if rank is None and group_rank is None:
        raise ValueError(f"Must specify {name} or group_{name}")
    found = whole_rank(group, rank, group_rank, name)
    if found == group.rank():
        raise ValueError(
            f"Invalid {role} rank: {role} rank should not be the same as the rank of the current "
            "process."
        )
    return found


@for_members
def irecv(
    tensor: dovetail.Tensor,
    src: int | None = None,
    group: Group = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Work | None:
    """Begin to receive into a tensor with the shape and dtype of the sent tensor.

    Parameters
    ----------
    tensor : Tensor
    src, group_src : int, optional
        Rank of the sender. Default: any rank; `Work.source_rank` returns it afterwards.
    group : ProcessGroup, optional
    tag : int, default 0
    """
    check_tensor(tensor, "tensor")
    assert group is not None
    peer = None
    if src is not None or group_src is not None:
        peer = _other(group, src, group_src, "src", "source")
    host = HostArray(tensor)

    def start() -> Any:
        from mpi4py import MPI

        return group.communicators.reducing.Irecv(
            host.array, MPI.ANY_SOURCE if peer is None else peer, tag
        )

    call = shown("recv", tensor, f"src={'any' if peer is None else peer}", f"tag={tag}")
    transfer = group.begin_message(call, 0, start, peer)

    def finish() -> None:
        from mpi4py import MPI

        size = transfer.status.Get_count(MPI.BYTE)
        if size != host.array.nbytes:
            raise RuntimeError(
                f"{call}: {size} bytes came from rank {transfer.status.source}, but the tensor has "
                f"{host.array.nbytes}. Receive into a tensor of the shape and dtype that is sent"
            )
        host.store()

    return Work(transfer, finish, [tensor])


def send(
    tensor: dovetail.Tensor,
    dst: int | None = None,
    group: Group = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> None:
    """Send a tensor, like `isend`, and return when it may be modified."""
    work: Work | None = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(
    tensor: dovetail.Tensor,
    src: int | None = None,
    group: Group = None,
    tag: int = 0,
    group_src: int | None = None,
) -> int:
    """Receive into a tensor, like `irecv`. Return the rank of the sender among all processes, or -1
    if this process is not in the group.
    """
    work: Work | None = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    return member(group).ranks[work.source_rank()]


class P2POp:
    """A message for `batch_isend_irecv`.

    Parameters
    ----------
    op : isend or irecv
    tensor : Tensor
    peer, group_peer : int
        Rank of the other process, among all processes or in the group.
    group : ProcessGroup, optional
    tag : int, default 0
    """

    def __init__(
        self,
        op: Callable[..., Work | None],
        tensor: dovetail.Tensor,
        peer: int | None = None,
        group: Group = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                "``torch.distributed.irecv``."
            )
        check_tensor(tensor, "tensor")
        self.op = op
        self.tensor = tensor
        self.peer = peer
        self.group_peer = group_peer
        self.group = group
        self.tag = tag


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work | None]:
    """Begin several messages; return their works in the same order."""
    if not p2p_op_list or not all([isinstance(each, P2POp) for each in p2p_op_list]):
        raise ValueError("p2p_op_list should be a list of P2POp, with one at least")
    return [
        each.op(each.tensor, each.peer, each.group, each.tag, each.group_peer)
        for each in p2p_op_list
    ]
