"""Derivatives of matrix products."""

from __future__ import annotations

from typing import Any


def mm_mat2_backward(k: Any, grad: Any, mat1: Any, column_major: bool) -> Any:
    """Gradient of ``mat1 @ mat2`` for `mat2`, laid out in memory like it; `mat1` is conjugated."""
    return k.t(k.mm(k.t(grad), mat1)) if column_major else k.mm(k.t(mat1), grad)
