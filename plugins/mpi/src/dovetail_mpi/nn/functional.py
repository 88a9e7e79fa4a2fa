"""Differentiable collectives that return new tensors. The derivative of each is its transposed
collective.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dovetail
from dovetail.autograd import Function

from ..collectives import copies, exchanges, reductions
from ..collectives.arguments import whole_rank
from ..groups import member
from ..process_group import ProcessGroup
from ..reduce_op import ReduceOp

Tensor = dovetail.Tensor
Group = ProcessGroup | None


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Group = None) -> Any:
    """Return the sum, or the average, over all ranks."""
    return _AllReduce.apply(_linear("all_reduce", op), member(group), tensor)


def reduce(tensor: Tensor, dst: int, op: Any = ReduceOp.SUM, group: Group = None) -> Any:
    """Return the sum, or the average, on rank `dst`; undefined values on the other ranks."""
    chosen = member(group)
    root = whole_rank(chosen, dst, None, "dst")
    return _Reduce.apply(root, _linear("reduce", op), chosen, tensor)


def broadcast(tensor: Tensor, src: int, group: Group = None) -> Any:
    """Return the tensor of rank `src`."""
    chosen = member(group)
    return _Broadcast.apply(whole_rank(chosen, src, None, "src"), chosen, tensor)


def all_gather(tensor: Tensor, group: Group = None) -> Any:
    """Return the tensors of all ranks as a tuple, by rank."""
    return _AllGather.apply(member(group), tensor).unbind(0)


def reduce_scatter(
    output: Tensor, input_list: Sequence[Tensor], op: Any = ReduceOp.SUM, group: Group = None
) -> Any:
    """Return the sum, or the average, of the tensors that all ranks pass for this rank.

    `output` only determines the shape.
    """
    stacked = dovetail.stack(list(input_list))
    return _ReduceScatter.apply(_linear("reduce_scatter", op), member(group), stacked)


def gather(tensor: Tensor, dst: int = 0, group: Group = None) -> Any:
    """Return the tensors of all ranks as a tuple on rank `dst`, and zeros on the other ranks."""
    chosen = member(group)
    return _Gather.apply(whole_rank(chosen, dst, None, "dst"), chosen, tensor).unbind(0)


def scatter(tensors: Sequence[Tensor], src: int = 0, group: Group = None) -> Any:
    """Return the tensor for this rank in the list of rank `src`.

    The other ranks pass a list of tensors with the same shapes.
    """
    chosen = member(group)
    root = whole_rank(chosen, src, None, "src")
    return _Scatter.apply(root, chosen, dovetail.stack(list(tensors)))


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Group = None,
) -> Any:
    """Return the parts that the ranks sent to this rank, joined. `output` determines the shape."""
    shape = tuple(output.shape)
    return _AllToAll.apply(member(group), shape, output_split_sizes, input_split_sizes, input)


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Group = None
) -> Any:
    """Return the tensors that the ranks sent to this rank, as a tuple.

    `output_tensor_list` determines their shapes.
    """
    came = [each.numel() for each in output_tensor_list]
    sent = [each.numel() for each in input_tensor_list]
    joined = dovetail.cat([each.reshape(-1) for each in input_tensor_list])
    result = _AllToAll.apply(member(group), (sum(came),), came, sent, joined)
    parts = zip(result.split(came), output_tensor_list, strict=True)
    return tuple(part.reshape(each.shape) for part, each in parts)


def _linear(function: str, op: Any) -> Any:
    """Return a reduction whose derivative is itself. Raises NotImplementedError for others."""
    if op not in (ReduceOp.SUM, ReduceOp.AVG):
        raise NotImplementedError(
            f"distributed.nn.functional.{function} has derivatives of SUM and AVG, not of {op}. "
            f"Use dovetail.distributed.{function} on a detached tensor"
        )
    return op


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: ProcessGroup, tensor: Tensor) -> Any:
        ctx.op, ctx.group = op, group
        result = tensor.clone(memory_format=dovetail.contiguous_format)
        reductions.all_reduce(result, op, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, _AllReduce.apply(ctx.op, ctx.group, grad)


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Any, root: int, op: Any, group: ProcessGroup, tensor: Tensor) -> Any:
        ctx.root, ctx.op, ctx.group = root, op, group
        result = tensor.clone(memory_format=dovetail.contiguous_format)
        reductions.reduce(result, op=op, group=group, group_dst=root)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        came = _Broadcast.apply(ctx.root, ctx.group, grad)
        return None, None, None, came / ctx.group.size() if ctx.op is ReduceOp.AVG else came


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, root: int, group: ProcessGroup, tensor: Tensor) -> Any:
        ctx.root, ctx.group = root, group
        result = tensor.clone(memory_format=dovetail.contiguous_format)
        copies.broadcast(result, group=group, group_src=root)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        came = _Reduce.apply(ctx.root, ReduceOp.SUM, ctx.group, grad)
        if ctx.group.rank() != ctx.root:  # zeros, in a graph that is like that of the root
            came = came.masked_fill(dovetail.tensor(True, device=came.device), 0)
        return None, None, came


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, group: ProcessGroup, tensor: Tensor) -> Any:
        ctx.group = group
        result = tensor.new_empty((group.size(), *tensor.shape))
        copies.all_gather_into_tensor(result, tensor, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, _ReduceScatter.apply(ReduceOp.SUM, ctx.group, grad)


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: ProcessGroup, stacked: Tensor) -> Any:
        ctx.op, ctx.group = op, group
        result = stacked.new_empty(stacked.shape[1:])
        reductions.reduce_scatter_tensor(result, stacked, op, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        came = _AllGather.apply(ctx.group, grad)
        return None, None, came / ctx.group.size() if ctx.op is ReduceOp.AVG else came


class _Gather(Function):
    @staticmethod
    def forward(ctx: Any, root: int, group: ProcessGroup, tensor: Tensor) -> Any:
        ctx.root, ctx.group = root, group
        result = tensor.new_zeros((group.size(), *tensor.shape))
        parts = list(result.unbind(0)) if group.rank() == root else None
        copies.gather(tensor, parts, group=group, group_dst=root)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, _Scatter.apply(ctx.root, ctx.group, grad)


class _Scatter(Function):
    @staticmethod
    def forward(ctx: Any, root: int, group: ProcessGroup, stacked: Tensor) -> Any:
        ctx.root, ctx.group = root, group
        result = stacked.new_empty(stacked.shape[1:])
        parts = list(stacked.unbind(0)) if group.rank() == root else None
        copies.scatter(result, parts, group=group, group_src=root)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, _Gather.apply(ctx.root, ctx.group, grad)


class _AllToAll(Function):
    @staticmethod
    def forward(
        ctx: Any,
        group: ProcessGroup,
        shape: tuple[int, ...],
        came: Sequence[int] | None,
        sent: Sequence[int] | None,
        tensor: Tensor,
    ) -> Any:
        ctx.group, ctx.came, ctx.sent, ctx.shape = group, came, sent, tuple(tensor.shape)
        result = tensor.new_empty(shape)
        exchanges.all_to_all_single(result, tensor, came, sent, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        back = _AllToAll.apply(ctx.group, ctx.shape, ctx.sent, ctx.came, grad)
        return None, None, None, None, back
