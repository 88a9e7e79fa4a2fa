"""Joining, repeating and padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from dovetail_aten._generated import functions as F

from ...typing import Tensor


def cat_of_nothing(tensors: Sequence[Tensor], dim: int = 0) -> NoReturn:
    """Refuse to join no tensors."""
    raise ValueError("torch.cat(): expected a non-empty list of Tensors. Give at least one.")


def stack_of_nothing(tensors: Sequence[Tensor], dim: int = 0) -> NoReturn:
    """Refuse to stack no tensors."""
    raise RuntimeError("stack expects a non-empty TensorList. Give at least one.")


def hstack(tensors: Sequence[Tensor]) -> Any:
    """Return `tensors` side by side: along dimension 1, vectors along 0."""
    if not tensors:
        raise RuntimeError("hstack expects a non-empty TensorList: give at least one tensor.")
    each = [F.reshape(tensor, (1,)) if tensor.ndim == 0 else tensor for tensor in tensors]
    return F.cat(each, 0 if each[0].ndim == 1 else 1)


def vstack(tensors: Sequence[Tensor]) -> Any:
    """Return `tensors` on top of each other, vectors as rows."""
    if not tensors:
        raise RuntimeError("vstack expects a non-empty TensorList: give at least one tensor.")
    return F.cat([_rows(tensor) for tensor in tensors], 0)


def _rows(tensor: Tensor) -> Any:
    if tensor.ndim == 0:
        return F.reshape(tensor, (1, 1))
    return F.unsqueeze(tensor, 0) if tensor.ndim == 1 else tensor


def tile(self: Tensor, dims: Sequence[int]) -> Any:
    """Return `self` repeated along its last dimensions."""
    missing = self.ndim - len(dims)
    return F.repeat(self, (*([1] * missing), *dims) if missing > 0 else tuple(dims))


def diag(self: Tensor, diagonal: int = 0) -> Any:
    """Return the diagonal of a matrix, or the matrix with a diagonal."""
    if self.ndim == 1:
        return F.diag_embed(self, diagonal)
    if self.ndim == 2:
        return F.clone(F.diagonal(self, diagonal))
    raise RuntimeError(
        f"diag(): Supports 1D or 2D tensors. Got {self.ndim}D. Use diagonal() or diag_embed()."
    )
