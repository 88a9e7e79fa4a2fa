"""Operators that go element by element: samples are lined up from the right, and the operator
called once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_dispatcher import Operator
from dovetail_kernel import result_dtype, scalar_category

from .._generated import functions as F
from ..tensor.tensor_class import Tensor
from ..typing import Batch, Dims
from .table import Rule, batched, call_one, logical_ndim, logical_shape, padded


def elementwise(op: Operator) -> Rule:
    """Return the rule of a pointwise operator or of an in-place variant of one."""
    call = op.handle
    promote = op.promote if op.variant_of is None else op.variant_of.promote
    promotes = (op.promotion if op.variant_of is None else op.variant_of.promotion) != "none"
    names = [a.name for a in op.schema.arguments if not a.kwarg_only]
    writes = any([a.is_write for a in op.schema.arguments])

    def apply(info: Batch, in_dims: Dims, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        if len(args) == 1:
            return call(args[0], **kwargs), 0
        ranks = [
            value.array.ndim - (dim is not None) if isinstance(value, Tensor) else 0
            for value, dim in zip(args, in_dims, strict=True)
        ]
        ndim = max(ranks)
        if promotes and not writes and 0 in ranks:
            args = _promoted(args, ranks, [name in promote for name in names])
        if writes and ranks[0] < ndim:
            raise RuntimeError(
                f"output with shape {list(logical_shape(args[0], in_dims[0]))} doesn't match the "
                "broadcast shape of "
                f"the operands, which have up to {ndim} dimensions. Use "
                f"{op.base_name.rstrip('_')} instead."
            )
        values = [
            value if dim is None or rank == ndim else padded(value, dim, ndim)
            for value, dim, rank in zip(args, in_dims, ranks, strict=True)
        ]
        return call(*values, **kwargs), 0

    return apply


def _promoted(args: tuple[object, ...], ranks: list[int], counts: list[bool]) -> tuple[Any, ...]:
    """Return `args` of the dtype that samples have in common, where batches would promote to
    another.

    A sample without dimensions is weaker than one with; its batch is not.
    """
    tensors = [
        (value, rank)
        for value, rank, counted in zip(args, ranks, counts, strict=True)
        if counted and isinstance(value, Tensor)
    ]
    if len({tensor.dtype for tensor, _ in tensors}) < 2:
        return args
    numbers = [
        scalar_category(value)
        for value, counted in zip(args, counts, strict=True)
        if counted and isinstance(value, bool | int | float | complex)
    ]
    wanted = result_dtype(
        [t.dtype for t, rank in tensors if rank],
        [t.dtype for t, rank in tensors if not rank],
        numbers,
    )
    return tuple(
        [
            F.to(value, dtype=wanted)
            if counted and isinstance(value, Tensor) and value.dtype is not wanted
            else value
            for value, counted in zip(args, counts, strict=True)
        ]
    )


def lined_up(op: Operator) -> Rule:
    """Return the rule of an elementwise operator whose kernel does not broadcast, or has several
    results.
    """
    call = op.handle

    def apply(info: Batch, in_dims: Sequence[int], *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        ndim = max([logical_ndim(value, dim) for value, dim in zip(args, in_dims, strict=True)])
        values = [
            padded(batched(value, dim, info.batch_size), 0, ndim)
            for value, dim in zip(args, in_dims, strict=True)
        ]
        made = call(*values, **kwargs)
        return made, (0,) * len(made) if isinstance(made, tuple) else 0

    return apply


def masked_fill_with_tensor(op: Operator) -> Rule:
    """Return the rule of masked_fill with a tensor of one element, or of its in-place variant."""
    writes = op.variant_of is not None

    def apply(
        info: Batch, in_dims: Dims, self: Any, mask: Tensor, value: Tensor
    ) -> tuple[Any, Any]:
        if logical_ndim(value, in_dims[2]):
            call_one(F.masked_fill_Tensor, in_dims, self, mask, value)
        own_ndim = logical_ndim(self, in_dims[0])
        ndim = max(own_ndim, logical_ndim(mask, in_dims[1]))
        if writes and ndim > own_ndim:
            raise RuntimeError(
                f"output with shape {list(logical_shape(self, in_dims[0]))} doesn't match the "
                "broadcast shape of the "
                f"operands, which have up to {ndim} dimensions. Use masked_fill instead."
            )
        filled = padded(F.to(value, self.dtype), in_dims[2], ndim)
        made = F.where_self(padded(mask, in_dims[1], ndim), filled, padded(self, in_dims[0], ndim))
        return F.copy_(self, made) if writes else made, 0

    return apply


def copy(
    info: Batch, in_dims: Dims, self: Any, src: Tensor, non_blocking: bool = False
) -> tuple[Any, Any]:
    shape = logical_shape(self, in_dims[0])
    if logical_ndim(src, in_dims[1]) > len(shape):
        raise RuntimeError(
            f"The expanded size of the tensor must match the existing size: a tensor of shape "
            f"{list(logical_shape(src, in_dims[1]))} is copied into one of shape {list(shape)}. "
            "Reshape it."
        )
    return F.copy_(self, padded(src, in_dims[1], len(shape)), non_blocking), 0


def fill_with_tensor(info: Batch, in_dims: Dims, self: Any, value: Tensor) -> tuple[Any, Any]:
    if logical_ndim(value, in_dims[1]):
        raise RuntimeError(
            "fill_ only supports 0-dimension value tensor but got tensor with "
            f"{logical_ndim(value, in_dims[1])} "
            "dimensions. Index one element, or use copy_."
        )
    return F.copy_(self, padded(value, in_dims[1], logical_ndim(self, 0))), 0
