"""Collectives that combine the tensors of all ranks: `all_reduce`, `reduce`, `reduce_scatter`.

Each begins without waiting; ``async_op=True`` returns its `Work`. Contiguous tensors on the CPU are
transferred without a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import dovetail

from ..host_arrays import HostArray
from ..reduce_op import RedOpType, ReduceOp, check_reduction, mpi_operation
from ..work import Work
from .arguments import check_same, check_tensor, check_tensors, for_members, shown, whole_rank
from .collective_calls import Group, Tensor, begun, check_parts


def _divide(array: Any, op: RedOpType, count: int) -> None:
    if op is ReduceOp.AVG:
        np.divide(array, count, out=array)


@for_members
def all_reduce(
    tensor: Tensor, op: Any = ReduceOp.SUM, group: Group = None, async_op: bool = False
) -> Work | None:
    """Combine the tensors of all ranks, in place on every rank.

    Parameters
    ----------
    tensor : Tensor
        A tensor with the same shape and dtype on all ranks. Half-precision values are combined in
        float32 and rounded once.
    op : ReduceOp, default ReduceOp.SUM
    group : ProcessGroup, optional
        Default: all processes.
    async_op : bool, default False
        Whether to return at once.

    Returns
    -------
    Work or None
        A Work if `async_op`: call its `wait` before using the tensor.
    """
    check_tensor(tensor, "tensor")
    assert group is not None
    host = HostArray(tensor, for_arithmetic=True)
    check_reduction("all_reduce", op, host.array)

    def start() -> Any:
        from mpi4py import MPI

        operation = mpi_operation(op, host.array)
        return group.communicators.reducing.Iallreduce(MPI.IN_PLACE, host.array, operation)

    def finish() -> None:
        _divide(host.array, op, group.size())
        host.store()

    call = shown("all_reduce", tensor, op.name)
    return begun(group, call, host.array.nbytes, start, finish, [tensor], async_op)


@for_members
def all_reduce_coalesced(
    tensors: Sequence[Tensor], op: Any = ReduceOp.SUM, group: Group = None, async_op: bool = False
) -> Any:
    """Combine several tensors, like `all_reduce` of each."""
    assert group is not None
    check_tensors(tensors, "tensors", len(tensors))
    works = [all_reduce(tensor, op, group, True) for tensor in tensors]
    if async_op:
        return works
    for work in works:
        assert work is not None
        work.wait()
    return None


@for_members
def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: Group = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Combine the tensors of all ranks on rank `dst`, like `all_reduce`. The tensors of other ranks
    are unchanged.
    """
    check_tensor(tensor, "tensor")
    assert group is not None
    root = whole_rank(group, dst, group_dst, "dst")
    host = HostArray(tensor, for_arithmetic=True)
    check_reduction("reduce", op, host.array)
    here = group.rank() == root

    def start() -> Any:
        from mpi4py import MPI

        operation = mpi_operation(op, host.array)
        if here:
            return group.communicators.reducing.Ireduce(MPI.IN_PLACE, host.array, operation, root)
        return group.communicators.reducing.Ireduce(host.array, None, operation, root)

    def finish() -> None:
        if here:
            _divide(host.array, op, group.size())
            host.store()

    call = shown("reduce", tensor, op.name, f"dst={root}")
    return begun(group, call, host.array.nbytes, start, finish, [tensor], async_op)


@for_members
def reduce_scatter_tensor(
    output: Tensor,
    input: Tensor,
    op: Any = ReduceOp.SUM,
    group: Group = None,
    async_op: bool = False,
) -> Work | None:
    """Combine the tensors `input` of all ranks; each rank receives its part into `output`.

    `input` contains the parts, joined along the first dimension or stacked.
    """
    check_tensor(output, "output")
    check_tensor(input, "input")
    assert group is not None
    check_parts("reduce_scatter_tensor", input, output, group.size())
    into, host = HostArray(output, for_arithmetic=True), HostArray(input, for_arithmetic=True)
    check_reduction("reduce_scatter_tensor", op, host.array)

    def start() -> Any:
        operation = mpi_operation(op, host.array)
        return group.communicators.reducing.Ireduce_scatter_block(
            host.array, into.array, op=operation
        )

    def finish() -> None:
        _divide(into.array, op, group.size())
        into.store()

    call = shown("reduce_scatter_tensor", output, op.name)
    return begun(group, call, host.array.nbytes, start, finish, [output], async_op)


@for_members
def reduce_scatter(
    output: Tensor,
    input_list: list[Tensor],
    op: Any = ReduceOp.SUM,
    group: Group = None,
    async_op: bool = False,
) -> Work | None:
    """Combine lists with one tensor per rank; each rank receives the combined tensor for its
    number.
    """
    check_tensor(output, "output")
    assert group is not None
    check_tensors(input_list, "input_list", group.size())
    check_same(input_list, output, "input_list")
    stacked = dovetail.stack([each.detach() for each in input_list])
    return reduce_scatter_tensor(output, stacked, op, group, async_op)
