"""Products of vectors, matrices and tensors, in terms of others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from dovetail_aten._generated import functions as F
from dovetail_dispatcher.calls import check_writable_as
from dovetail_kernel import bool as bool_
from dovetail_kernel import result_dtype, warn_user_once

from ....kernel_support.checks.product_checks import check_expandable
from ....kernel_support.dims import wrap_dim
from ....typing import Tensor
from ..kernels.matrix_checks import check_inexact, check_square, check_trace

linalg_matmul = F.matmul
matrix_power = F.linalg_matrix_power


def linalg_diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """Return a view of the diagonals of matrices."""
    return F.diagonal(A, offset, dim1, dim2)


def trace(self: Any) -> Any:
    """Return the sum of the diagonal of a matrix."""
    check_trace(self, self.dtype)
    return F.sum(F.diagonal(self))


def linalg_vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Any:
    """Return the inner products of vectors along `dim`, those of `x` conjugated."""
    check_inexact("linalg.vecdot", x.dtype)
    if x.dtype is not y.dtype:
        raise RuntimeError(
            f"linalg.vecdot: Expected x and y to have the same dtype, but found x of type "
            f"{x.dtype.scalar_name} and y of type {y.dtype.scalar_name} instead. Convert one."
        )
    if x.ndim == y.ndim == 1:
        wrap_dim(dim, 1)
        return F.vdot(x, y)
    return F.sum(F.mul(F.conj(x), y), (dim,))


def cross(self: Any, other: Tensor, dim: int | None = None) -> Any:
    """Return the cross products along `dim`, by default the first dimension of size 3."""
    if dim is None:
        warn_user_once(
            "Using dovetail.cross without specifying the dim arg is deprecated. Give the dim, or "
            "use dovetail.linalg.cross, whose default is the last one."
        )
        dim = next(iter([at for at, size in enumerate(self.shape) if size == 3]), None)
        if dim is None:
            raise RuntimeError(
                "no dimension of size 3 in input. Cross products need three elements."
            )
    return F.linalg_cross(self, other, dim=dim)


def kron(self: Tensor, other: Tensor) -> Any:
    """Return the Kronecker product: every element of `self` times `other`, as blocks."""
    ndim = max(self.ndim, other.ndim)
    left = (1,) * (ndim - self.ndim) + tuple(self.shape)
    right = (1,) * (ndim - other.ndim) + tuple(other.shape)
    outer = [each for size in left for each in (size, 1)]
    inner = [each for size in right for each in (1, size)]
    product = F.mul(F.reshape(self, outer), F.reshape(other, inner))
    return F.reshape(product, [a * b for a, b in zip(left, right, strict=True)])


def tensordot(
    self: Tensor, other: Tensor, dims_self: Sequence[int], dims_other: Sequence[int]
) -> Any:
    """Return the sums of products over pairs of dimensions, a size of 1 counting for any other."""
    if len(dims_self) != len(dims_other):
        raise RuntimeError("both dimension lists should have same length. Name pairs.")
    if self.dtype is not other.dtype:
        raise RuntimeError("both inputs should have same dtype. Convert one of them.")
    first = [wrap_dim(dim, self.ndim) for dim in dims_self]
    second = [wrap_dim(dim, other.ndim) for dim in dims_other]
    for a, b, (left, right) in zip(
        first, second, zip(dims_self, dims_other, strict=True), strict=True
    ):
        if self.shape[a] == 1 and other.shape[b] != 1:
            other = F.sum(other, (b,), True, dtype=other.dtype)
        elif other.shape[b] == 1 and self.shape[a] != 1:
            self = F.sum(self, (a,), True, dtype=self.dtype)
        elif self.shape[a] != other.shape[b]:
            raise RuntimeError(
                "contracted dimensions need to match, but first has size "
                f"{self.shape[a]} in dim {left} and second has size {other.shape[b]} in dim "
                f"{right}. Name others."
            )
    kept = [dim for dim in range(self.ndim) if dim not in first]
    others = [dim for dim in range(other.ndim) if dim not in second]
    shape = [self.shape[dim] for dim in kept] + [other.shape[dim] for dim in others]
    size = math.prod([self.shape[dim] for dim in first])
    rows = math.prod([self.shape[dim] for dim in kept])
    columns = math.prod([other.shape[dim] for dim in others])
    matrix = _as_matrix(self, [*kept, *first], (rows, size))
    return F.reshape(F.mm(matrix, _as_matrix(other, [*second, *others], (size, columns))), shape)


def _as_matrix(x: Tensor, dims: list[int], shape: tuple[int, int]) -> Any:
    """Return `x` with its dimensions in the order `dims`, and those of each side as one."""
    turned = x if dims == list(range(x.ndim)) else F.permute(x, dims)
    return turned if turned.array.shape == shape else F.reshape(turned, shape)


# -- several matrices ------------------------------------------------------------------------------


def linalg_multi_dot(tensors: Sequence[Tensor]) -> Any:
    """Return the product of several matrices in the order that takes the fewest multiplications;
    the first and the last may be vectors.
    """
    _check_chain(tensors)
    first, last = tensors[0], tensors[-1]
    chain = [F.unsqueeze(first, 0) if first.ndim == 1 else first, *tensors[1:-1]]
    chain.append(F.unsqueeze(last, -1) if last.ndim == 1 else last)
    for at, (left, right) in enumerate(pairwise(chain)):
        if left.shape[-1] != right.shape[0]:
            shapes = list(tensors[at].shape), list(tensors[at + 1].shape)
            raise RuntimeError(
                f"multi_dot(): tensors {at} and {at + 1} with shapes {shapes[0]} and {shapes[1]} "
                "cannot be multiplied. Transpose one of them."
            )
    made = _product(chain, _best_order([*[m.shape[0] for m in chain], chain[-1].shape[1]]))
    shape = (*(() if first.ndim == 1 else made.shape[:1]),)
    shape += () if last.ndim == 1 else tuple(made.shape[1:])
    return made if len(shape) == 2 else F.reshape(made, shape)


def _check_chain(tensors: Sequence[Tensor]) -> None:
    """Raise an error for anything except a chain of matrices."""
    if len(tensors) < 2:
        raise RuntimeError(
            f"multi_dot(): expected at least 2 tensors but got {len(tensors)}. Give several."
        )
    for name, each in (("first", tensors[0]), ("last", tensors[-1])):
        if each.ndim not in (1, 2):
            raise RuntimeError(
                f"multi_dot(): the {name} tensor must be 1D or 2D but got {each.ndim}D. Reshape it."
            )
    for at, each in enumerate(tensors):
        if 0 < at < len(tensors) - 1 and each.ndim != 2:
            raise RuntimeError(
                f"multi_dot(): tensor {at} must be 2D but got {each.ndim}D. Reshape it."
            )
        if each.dtype is not tensors[0].dtype:
            raise RuntimeError(
                "multi_dot(): all tensors must have be the same dtype but tensor 0 is "
                f"{tensors[0].dtype.name} and tensor {at} {each.dtype.name}. Convert one of them."
            )
        if each.device != tensors[0].device:
            raise RuntimeError(
                "multi_dot(): all tensors must be on the same device but tensor 0 is on "
                f"{tensors[0].device} and tensor {at} on {each.device}. Move one of them."
            )


def _best_order(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """Return, for every part of a chain, behind which matrix it is split best."""
    count = len(sizes) - 1
    cost: dict[tuple[int, int], int] = {(at, at): 0 for at in range(count)}
    split: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for start in range(count - length):
            end = start + length
            costs = [
                cost[start, at] + cost[at + 1, end] + sizes[start] * sizes[at + 1] * sizes[end + 1]
                for at in range(start, end)
            ]
            cost[start, end] = min(costs)
            split[start, end] = start + costs.index(min(costs))
    return split


def _product(chain: Sequence[object], split: dict[tuple[int, int], int]) -> Any:
    """Return the product of a chain, split as told."""

    def part(start: int, end: int) -> Any:
        if start == end:
            return chain[start]
        at = split[start, end]
        return F.mm(part(start, at), part(at + 1, end))

    return part(0, len(chain) - 1)


def chain_matmul(matrices: Sequence[Tensor]) -> Any:
    """Return the product of several matrices in the order that takes the fewest multiplications."""
    warn_user_once(
        "dovetail.chain_matmul is deprecated. Use dovetail.linalg.multi_dot, which takes a list of "
        "two or more tensors."
    )
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices. Give at least one.")
    for each in matrices:
        if each.ndim != 2:
            raise RuntimeError(
                f"Tensor dimension is {each.ndim}, expected 2 instead. Use linalg.multi_dot for "
                "vectors."
            )
    return F.clone(matrices[0]) if len(matrices) == 1 else F.linalg_multi_dot(matrices)


def linalg_matrix_power(self: Tensor, n: int) -> Any:
    """Return square matrices raised to a whole power; to a negative one, their inverses."""
    check_square("linalg.matrix_power", self.shape)
    if n == 0:
        ones = F.eye(self.shape[-1], dtype=self.dtype, device=self.device)
        return F.add(F.masked_fill(self, F.ones_like(ones, dtype=bool_), 0), ones)
    if n < 0:
        return linalg_matrix_power(F.linalg_inv(self), -n)
    if n == 1:
        return F.clone(self)
    made, square = None, self
    while True:
        if n & 1:
            made = square if made is None else F.matmul(made, square)
        n >>= 1
        if not n:
            return made
        square = F.matmul(square, square)


# -- outer products that are added -----------------------------------------------------------------


def addr(self: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """Return ``beta * self + alpha * outer(vec1, vec2)``; of bools, with or and and."""
    for name, each in (("vec1", vec1), ("vec2", vec2)):
        if each.ndim != 1:
            raise RuntimeError(
                f"addr: Expected 1-D argument {name}, but got {each.ndim}-D. Flatten it."
            )
    shape = (vec1.shape[0], vec2.shape[0])
    check_expandable(self.array, shape)
    columns = F.unsqueeze(vec1, -1)
    kinds = {each.dtype.scalar_name for each in (self, vec1, vec2)}
    if kinds == {"Bool"}:
        made = F.logical_and(columns, vec2)
        made = made if alpha else F.zeros_like(made)
        return F.logical_or(self, made) if beta else made
    own = ([self.dtype], []) if self.ndim else ([], [self.dtype])
    category = max([each.dtype.category for each in (self, vec1, vec2)])
    for name, factor in (("alpha", alpha), ("beta", beta)):
        if isinstance(factor, complex) and factor.imag and category < 3:
            raise RuntimeError(
                f"value cannot be converted to type float without overflow: {name} is complex. "
                "Convert the tensors first."
            )
        if isinstance(factor, float) and category < 2:
            raise RuntimeError(
                f"For integral input tensors, argument {name} must not be a floating point number. "
                "Give a whole number."
            )
    common = result_dtype([vec1.dtype, vec2.dtype, *own[0]], own[1], [])
    made = F.mul(F.to(columns, common), vec2)
    made = made if alpha == 1 else F.mul(made, alpha)
    if beta == 0:
        return made
    scaled = F.expand(self, shape) if beta == 1 else F.mul(F.to(self, common), beta)
    return F.add(scaled, made)


def addr_(self: Any, vec1: object, vec2: object, *, beta: object = 1, alpha: object = 1) -> Any:
    """Write ``beta * self + alpha * outer(vec1, vec2)`` into `self`."""
    made = addr(self, vec1, vec2, beta=beta, alpha=alpha)
    check_writable_as(made.dtype, self.dtype)
    return F.copy_(self, made)
