"""Derivatives of matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...typing import Namespace, TensorLike


def trace_backward(k: Namespace, grad: TensorLike, sizes: Sequence[int]) -> Any:
    """Return the gradient of trace: `grad` on the diagonal of a matrix of zeros."""
    rows, columns = sizes
    least = min(rows, columns)
    made = k.diag_embed(k.expand(grad, (least,)))
    if rows == columns:
        return made
    return k.constant_pad_nd(made, (0, columns - least, 0, rows - least))
