"""Linear algebra: the operators take batches of matrices themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_dispatcher import Operator

from ..._generated import functions as F
from ...batching.table import Rule, batched, call_one, logical_ndim, padded
from ...typing import Batch, Dims, Tensor

_VECTORS = frozenset({"pivots", "LU_pivots"})
"""Arguments whose samples are vectors, one for each matrix; of all others they are matrices."""


def batched_matrices(op: Operator) -> Rule:
    """Return the rule of an operator of matrices: the batch is one more dimension in front of those
    that it takes anyway.
    """
    names = [argument.name for argument in op.schema.arguments]
    tensors = [a.name for a in op.schema.arguments if a.real_type.schema_str.startswith("Tensor")]
    count = len(op.schema.returns)

    def apply(info: Batch, in_dims: Dims, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        given = [(at, name) for at, name in enumerate(names[: len(args)]) if name in tensors]
        ahead = [
            logical_ndim(args[at], in_dims[at]) - (1 if name in _VECTORS else 2)
            for at, name in given
        ]
        if min(ahead) < 0:
            call_one(op.handle, in_dims, *args, **kwargs)
        lined_up = list(args)
        for at, name in given:
            wide = batched(args[at], in_dims[at], info.batch_size)
            core = 1 if name in _VECTORS else 2
            lined_up[at] = padded(wide, 0, max(ahead) + core)
        result = op.handle(*lined_up, **kwargs)
        return result, 0 if count == 1 else _dims_of(result, info.batch_size)

    return apply


def _dims_of(results: Sequence[Tensor], size: int) -> tuple[int | None, ...]:
    """Return the batch dimension of every result; one that was not computed is empty and has
    none.
    """
    return tuple([None if tuple(each.array.shape) == (0,) else 0 for each in results])


def linalg_solve_ex(
    info: Batch, in_dims: Dims, A: Any, B: Any, *, left: bool = True, check_errors: bool = False
) -> tuple[Any, Any]:
    """Return the rule of a system whose right-hand side may be a vector."""
    matrix, right = A, B
    ndims = logical_ndim(A, in_dims[0]), logical_ndim(B, in_dims[1])
    options: Any = {"left": left, "check_errors": check_errors}
    shape = tuple(A.array.shape)[0 if in_dims[0] is None else 1 :]
    side = tuple(B.array.shape)[0 if in_dims[1] is None else 1 :]
    is_vector = len(side) == 1 or (ndims[0] - 1 == ndims[1] and side == shape[:-1])
    if ndims[0] < 2 or (is_vector and not left):
        call_one(F.linalg_solve_ex, in_dims, A, B, **options)
    matrix = batched(matrix, in_dims[0], info.batch_size)
    right = batched(right, in_dims[1], info.batch_size)
    if is_vector:
        right = F.unsqueeze(right, -1)
    most = max(matrix.array.ndim, right.array.ndim) - 1
    made, infos = F.linalg_solve_ex(padded(matrix, 0, most), padded(right, 0, most), **options)
    if most + 1 > matrix.array.ndim:  # one info for every matrix that was given
        infos = F.reshape(infos, tuple(matrix.array.shape[:-2]))
    return (F.squeeze_dim(made, -1) if is_vector else made, infos), (0, 0)


def linalg_lstsq(
    info: Batch,
    in_dims: Dims,
    self: Any,
    b: Tensor,
    rcond: float | None = None,
    *,
    driver: str | None = None,
) -> tuple[Any, Any]:
    matrix = batched(self, in_dims[0], info.batch_size)
    right = batched(b, in_dims[1], info.batch_size)
    made = F.linalg_lstsq(matrix, right, rcond, driver=driver)
    return tuple(made), _dims_of(made, info.batch_size)


def linalg_cross(
    info: Batch, in_dims: Dims, self: Any, other: Tensor, *, dim: int = -1
) -> tuple[Any, Any]:
    ndim = logical_ndim(self, in_dims[0])
    if ndim != logical_ndim(other, in_dims[1]) or not -ndim <= dim < ndim:
        call_one(F.linalg_cross, in_dims, self, other, dim=dim)
    left = batched(self, in_dims[0], info.batch_size)
    right = batched(other, in_dims[1], info.batch_size)
    return F.linalg_cross(left, right, dim=dim if dim < 0 else dim + 1), 0


def check_errors_of_batch(
    info: Batch, in_dims: Dims, infos: Tensor, api_name: str, *, is_matrix: bool
) -> tuple[Any, Any]:
    F._linalg_check_errors(infos, api_name, is_matrix=False)
    return None, None
