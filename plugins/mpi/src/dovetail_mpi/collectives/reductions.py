"""Collectives that combine the tensors of all ranks: `all_reduce`, `reduce`, `reduce_scatter`.

Each is begun without waiting (``async_op=True`` returns its `Work`), on the memory of the tensors
themselves where they are contiguous and on the CPU.
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
        Of one shape and dtype on all ranks; halves are combined as float32 and rounded once.
    op : ReduceOp, default ReduceOp.SUM
    group : ProcessGroup, optional
        Default: all processes.
    async_op : bool, default False
        Return at once.

    Returns
    -------
    Work or None
        Work for `async_op`; wait for it before touching the tensor.
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
    """Combine several tensors; as `all_reduce` of each."""
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
    """Combine the tensors of all ranks on rank `dst`; the others keep theirs. As `all_reduce`."""
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
    """Combine the tensors `input` of all ranks; each rank gets the part of its number in `output`.

    `input` is the parts joined along the first dimension, or stacked.
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
    """Combine lists of tensors, one for each rank; each rank gets the sum at its number."""
    check_tensor(output, "output")
    assert group is not None
    check_tensors(input_list, "input_list", group.size())
    check_same(input_list, output, "input_list")
    stacked = dovetail.stack([each.detach() for each in input_list])
    return reduce_scatter_tensor(output, stacked, op, group, async_op)
