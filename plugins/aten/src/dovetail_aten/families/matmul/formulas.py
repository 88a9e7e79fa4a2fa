"""Derivatives of matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...typing import Namespace, TensorLike


def mm_mat2_backward(k: Namespace, grad: TensorLike, mat1: TensorLike, column_major: bool) -> Any:
    """Return the gradient of ``mat1 @ mat2`` with respect to `mat2`, in the memory layout of
    `mat2`.

    `mat1` is conjugated already.
    """
    return k.t(k.mm(k.t(grad), mat1)) if column_major else k.mm(k.t(mat1), grad)


def trace_backward(k: Namespace, grad: TensorLike, sizes: Sequence[int]) -> Any:
    """Return the gradient of trace: `grad` on the diagonal of a matrix of zeros."""
    rows, columns = sizes
    least = min(rows, columns)
    made = k.diag_embed(k.expand(grad, (least,)))
    if rows == columns:
        return made
    return k.constant_pad_nd(made, (0, columns - least, 0, rows - least))
