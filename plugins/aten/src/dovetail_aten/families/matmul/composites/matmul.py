"""Products of matrices of any number of dimensions, in terms of dot, mv, mm and bmm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from dovetail_aten._generated import functions as F
from dovetail_dispatcher.table import Shortcut
from dovetail_kernel import int8, int32, state, uint8
from dovetail_kernel.keys import NOT_PLAIN
from dovetail_kernel.signature import GRAD, NO_GRAD, WRAPPED_BIT

from ....typing import Tensor

_SEEN: Final = NOT_PLAIN | WRAPPED_BIT
"""Signatures of tensors whose class, mode or transform sees the operators that are called."""


def int_mm(self: Tensor, mat2: Tensor) -> Any:
    """Return the product of two matrices of int8, or of uint8 and int8, in int32."""
    if self.dtype not in (int8, uint8) or mat2.dtype is not int8:
        name, wrong = ("self", self) if mat2.dtype is int8 else ("mat2", mat2)
        raise RuntimeError(
            f"int_mm_out_cpu: Expected {name} dtype to be int8, or uint8 of self, but got "
            f"{wrong.dtype}. Convert it, or use mm."
        )
    return F.mm(F.to(self, int32), F.to(mat2, int32))


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Any:
    """Return ``input @ weight.T + bias``."""
    if bias is not None and input.array.ndim == 2 and bias.array.ndim == 1:
        return F.addmm(bias, input, F.t(weight))
    shape = input.array.shape
    if weight.ndim != 2:
        if weight.ndim == 1 and bias is None:
            return matmul(input, weight)
        raise RuntimeError(
            f"linear(): input and weight.T shapes cannot be multiplied: weight has {weight.ndim} "
            "dimensions. "
            "Give a weight of shape (out_features, in_features)."
        )
    if len(shape) <= 2 and bias is None:
        return matmul(input, F.t(weight))
    flat = (
        F.reshape(input, (math.prod(shape[:-1]), shape[-1]))
        if len(shape) > 1
        else F.unsqueeze(input, 0)
    )
    if bias is not None and bias.ndim == 1:
        product = F.addmm(bias, flat, F.t(weight))
        return F.view(product, (*shape[:-1], weight.shape[0]))
    product = F._unsafe_view(F.mm(flat, F.t(weight)), (*shape[:-1], weight.shape[0]))
    return product if bias is None else F.add(product, F.expand(bias, product.shape))


@Shortcut("aten::mm", ("self", "other"), ndims=(("self", 2), ("other", 2)))
@Shortcut("aten::mv", ("self", "other"), ndims=(("self", 2), ("other", 1)))
@Shortcut("aten::dot", ("self", "other"), ndims=(("self", 1), ("other", 1)))
def matmul(self: Tensor, other: Tensor) -> Any:
    """Return the matrix product; 1-d operands are vectors, leading dimensions broadcast."""
    left, right = self.array.ndim, other.array.ndim
    if left == 2 and right == 2:
        return F.mm(self, other)
    match (left, right):
        case (1, 1):
            return F.dot(self, other)
        case (2, 1):
            return F.mv(self, other)
        case (1, 2):
            # Not squeezed: the result must not be a view of the intermediate product.
            product = F.mm(F.unsqueeze(self, 0), other)
            return F._unsafe_view(product, product.array.shape[1:])
    if left == 0 or right == 0:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {left}D and {right}D. "
            "Use * for scalars."
        )
    if right <= 2 and left > 2:
        return _folded(self, other)
    return _batched(self, other)


def _folded(self: Any, other: Tensor) -> Any:
    """Return the product of many rows, all dimensions but the last folded into one, and a matrix or
    vector.
    """
    *batch, inner = self.array.shape
    rows = F.reshape(self, (math.prod(batch), inner))
    if other.ndim == 1:
        return F._unsafe_view(F.mv(rows, other), tuple(batch))
    return F._unsafe_view(F.mm(rows, other), (*batch, other.array.shape[1]))


def _is_unseen(self: Any, other: Any) -> bool:
    """Return whether no graph, mode or transform sees which operators are called."""
    now = state()
    bits = self._signature | other._signature
    if now & ~NO_GRAD or bits & _SEEN:
        return False
    # A view may have the bit though it does not require grad.
    return bool(now or not bits & GRAD or not (self.requires_grad or other.requires_grad))


def _batched(self: Any, other: Tensor) -> Any:
    shapes = self.array.shape, other.array.shape
    has_batches = len(shapes[0]) > 2 and len(shapes[1]) > 2
    if has_batches and shapes[0][:-2] == shapes[1][:-2] and _is_unseen(self, other):
        return _of_one_batch(self, other)
    left = F.unsqueeze(self, 0) if self.ndim == 1 else self
    right = F.unsqueeze(other, -1) if other.ndim == 1 else other
    *first, rows, inner = left.array.shape
    *second, depth, columns = right.array.shape
    batch = tuple(first) if first == second else _broadcast(first, second)
    count = math.prod(batch)
    stack = F.reshape(F.expand(left, (*batch, rows, inner)), (count, rows, inner))
    others = F.reshape(F.expand(right, (*batch, depth, columns)), (count, depth, columns))
    kept = (*batch, *(() if self.ndim == 1 else (rows,)), *(() if other.ndim == 1 else (columns,)))
    return F._unsafe_view(F.bmm(stack, others), kept)


def _of_one_batch(self: Any, other: Any) -> Any:
    """Return the products of matrices of the same batch."""
    *batch, rows, inner = self.array.shape
    if len(batch) == 1:
        return F.bmm(self, other)
    depth, columns = other.array.shape[-2:]
    count = math.prod(batch)
    sides = F.reshape(self, (count, rows, inner)), F.reshape(other, (count, depth, columns))
    return F._unsafe_view(F.bmm(*sides), (*batch, rows, columns))


def _broadcast(first: Sequence[int], second: Sequence[int]) -> tuple[int, ...]:
    ndim = max(len(first), len(second))
    left = (1,) * (ndim - len(first)) + tuple(first)
    right = (1,) * (ndim - len(second)) + tuple(second)
    for dim, (a, b) in enumerate(zip(left, right, strict=True)):
        if a not in (b, 1) and b != 1:
            raise RuntimeError(
                f"The size of tensor a ({a}) must match the size of tensor b ({b}) at "
                f"non-singleton dimension {dim}. "
                "Reshape one of them."
            )
    return tuple([b if a == 1 else a for a, b in zip(left, right, strict=True)])


sparse_addmm = F.addmm  # as sparse products call it: of strided matrices, the same


def outer(self: Tensor, vec2: Tensor) -> Any:
    """Return the outer product of two vectors."""
    if self.ndim != 1 or vec2.ndim != 1:
        raise RuntimeError(
            f"outer: Expected 1-D arguments self and vec2, but got {self.ndim}D and {vec2.ndim}D "
            "tensors. Flatten them."
        )
    return F.mul(F.reshape(self, (self.shape[0], 1)), vec2)


def inner(self: Tensor, other: Tensor) -> Any:
    """Return the sums of products along the last dimensions."""
    if self.ndim == 0 or other.ndim == 0:
        return F.mul(self, other)
    if self.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(self.shape)} and {list(other.shape)}. Transpose one of them."
        )
    if self.ndim == other.ndim == 1:
        return F.dot(self, other)
    size = self.shape[-1]
    rows, columns = math.prod(self.shape[:-1]), math.prod(other.shape[:-1])
    product = F.mm(F.reshape(self, (rows, size)), F.t(F.reshape(other, (columns, size))))
    return F.reshape(product, (*self.shape[:-1], *other.shape[:-1]))
