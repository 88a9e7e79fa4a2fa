"""Products of matrices and vectors: a batch of them is one product of higher dimension."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..._generated import functions as F
from ...batching.table import Rule, call_one, logical_ndim, logical_shape, padded
from ...typing import Batch, Dims, Tensor, TensorLike


def _check(call: Callable[..., object], ndims: tuple[int, ...], in_dims: Dims, *args: Any) -> None:
    """Raise an error for samples of other dimensions than the operator supports, with its own
    message, since their batch could match another operator.
    """
    for value, dim, ndim in zip(args, in_dims, ndims, strict=False):
        if logical_ndim(value, dim) != ndim:
            call_one(call, in_dims, *args)
            raise AssertionError(f"{call} takes arguments of {ndims} dimensions")


def _batched_mm(left: Tensor, right: Tensor, dims: Sequence[int | None]) -> Any:
    if dims[0] is not None and dims[1] is not None:
        if left.array.shape[2] == 1 == right.array.shape[1] and left.dtype is right.dtype:
            return F.mul(
                left, right
            )  # outer products, such as gradients of weights are: several times faster
        return F.bmm(left, right)
    return F.matmul(left, right)


def mm(info: Batch, in_dims: Dims, self: Any, mat2: Tensor) -> tuple[Any, Any]:
    _check(F.mm, (2, 2), in_dims, self, mat2)
    return _batched_mm(self, mat2, in_dims), 0


def bmm(info: Any, in_dims: Any, self: Any, mat2: Tensor) -> tuple[Any, Any]:
    _check(F.bmm, (3, 3), in_dims, self, mat2)
    if logical_shape(self, in_dims[0])[0] != logical_shape(mat2, in_dims[1])[0]:
        call_one(F.bmm, in_dims, self, mat2)  # matmul would broadcast
    return F.matmul(self, mat2), 0


def _batched_mv(matrix: Any, vector: Any, dims: Any) -> Any:
    if dims[0] is None:
        return F.matmul(vector, F.t(matrix))
    if dims[1] is None:
        return F.matmul(matrix, vector)
    return F.squeeze_dim(F.bmm(matrix, F.unsqueeze(vector, 2)), 2)


def mv(info: Any, in_dims: Any, self: Any, vec: object) -> tuple[Any, Any]:
    _check(F.mv, (2, 1), in_dims, self, vec)
    return _batched_mv(self, vec, in_dims), 0


def _batched_dot(left: Any, right: Any, dims: Any) -> Any:
    if dims[0] is not None and dims[1] is not None:
        product = F.bmm(F.unsqueeze(left, 1), F.unsqueeze(right, 2))
        return F.view(product, (left.array.shape[0],))
    return F.mv(left, right) if dims[1] is None else F.mv(right, left)


def dot(info: Batch, in_dims: Dims, self: Any, tensor: Tensor) -> tuple[Any, Any]:
    _check(F.dot, (1, 1), in_dims, self, tensor)
    return _batched_dot(self, tensor, in_dims), 0


def vdot(info: Batch, in_dims: Dims, self: Any, other: object) -> tuple[Any, Any]:
    _check(F.vdot, (1, 1), in_dims, self, other)
    return _batched_dot(F.conj(self), other, in_dims), 0


def _adding(
    call: Callable[..., object],
    ndims: tuple[int, int],
    product: Callable[[Any, Any, Any], Any],
    result_ndim: int,
) -> Rule:
    """Return the rule of ``beta * self + alpha * product``, `self` broadcast to the product."""

    def apply(
        info: Batch,
        in_dims: Dims,
        self: Any,
        left: TensorLike,
        right: Any,
        *,
        beta: Any = 1,
        alpha: Any = 1,
    ) -> tuple[Any, Any]:
        ranks = [
            logical_ndim(value, dim) for value, dim in zip((left, right), in_dims[1:3], strict=True)
        ]
        fits = tuple(ranks) == ndims and logical_ndim(self, in_dims[0]) <= result_ndim
        if not fits or self.dtype is not left.dtype:
            call_one(call, in_dims, self, left, right, beta=beta, alpha=alpha)
            raise AssertionError(f"{call} does not take these arguments")
        if in_dims[1] is None and in_dims[2] is None:
            made = product(left, right, None)
        else:
            made = product(left, right, in_dims[1:3])
        if alpha != 1:
            made = F.mul(made, alpha)
        if beta == 0:  # then self does not count, not even its NaNs
            own_shape = made.array.shape
            if in_dims[1] is None and in_dims[2] is None:
                return F.expand(F.unsqueeze(made, 0), (info.batch_size, *own_shape)), 0
            return made, 0
        return F.add(made, padded(self, in_dims[0], result_ndim), alpha=beta), 0

    return apply


def _product(
    plain: Callable[..., object], batch: Callable[..., object]
) -> Callable[[Any, Any, Any], Any]:
    def product(left: Tensor, right: Tensor, dims: Sequence[int | None] | None) -> Any:
        return plain(left, right) if dims is None else batch(left, right, dims)

    return product


def _batched_bmm(left: Tensor, right: Tensor, dims: object) -> Any:
    return F.matmul(left, right)


def _sum_of_products(left: Tensor, right: Tensor, dims: Sequence[int | None] | None = None) -> Any:
    return F.sum_dim_IntList(F.matmul(left, right), (-3,))


addmm = _adding(F.addmm, (2, 2), _product(F.mm, _batched_mm), 2)
addmv = _adding(F.addmv, (2, 1), _product(F.mv, _batched_mv), 1)
baddbmm = _adding(F.baddbmm, (3, 3), _product(F.bmm, _batched_bmm), 3)
addbmm = _adding(F.addbmm, (3, 3), _product(_sum_of_products, _sum_of_products), 2)
