"""Joining, repeating and padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from dovetail_aten._generated import functions as F
from dovetail_aten.array_kernels.border_geometry import BORDERS
from dovetail_kernel import contiguous_format


def cat_of_nothing(tensors: Sequence[Any], dim: int = 0) -> NoReturn:
    """Refuse to join no tensors."""
    raise ValueError("torch.cat(): expected a non-empty list of Tensors. Give at least one.")


def stack_of_nothing(tensors: Sequence[Any], dim: int = 0) -> NoReturn:
    """Refuse to stack no tensors."""
    raise RuntimeError("stack expects a non-empty TensorList. Give at least one.")


def hstack(tensors: Sequence[Any]) -> Any:
    """Return `tensors` side by side: along dimension 1, vectors along 0."""
    if not tensors:
        raise RuntimeError("hstack expects a non-empty TensorList: give at least one tensor.")
    each = [F.reshape(tensor, (1,)) if tensor.ndim == 0 else tensor for tensor in tensors]
    return F.cat(each, 0 if each[0].ndim == 1 else 1)


def vstack(tensors: Sequence[Any]) -> Any:
    """Return `tensors` on top of each other, vectors as rows."""
    if not tensors:
        raise RuntimeError("vstack expects a non-empty TensorList: give at least one tensor.")
    return F.cat([_rows(tensor) for tensor in tensors], 0)


def _rows(tensor: Any) -> Any:
    if tensor.ndim == 0:
        return F.reshape(tensor, (1, 1))
    return F.unsqueeze(tensor, 0) if tensor.ndim == 1 else tensor


def tile(self: Any, dims: Sequence[int]) -> Any:
    """Return `self` repeated along its last dimensions."""
    missing = self.ndim - len(dims)
    return F.repeat(self, (*([1] * missing), *dims) if missing > 0 else tuple(dims))


def diag(self: Any, diagonal: int = 0) -> Any:
    """Return the diagonal of a matrix, or the matrix with a diagonal."""
    if self.ndim == 1:
        return F.diag_embed(self, diagonal)
    if self.ndim == 2:
        return F.clone(F.diagonal(self, diagonal))
    raise RuntimeError(
        f"diag(): Supports 1D or 2D tensors. Got {self.ndim}D. Use diagonal() or diag_embed()."
    )


def pad(self: Any, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Any:
    """Return `self` with `pad` elements before and after, for dimensions from the last.

    Parameters
    ----------
    mode
        ``constant``, ``reflect``, ``replicate`` or ``circular``.
    value
        What constant padding is made of; default 0.
    """
    if len(pad) % 2:
        raise RuntimeError(
            "Padding length must be divisible by 2. Give a (before, after) pair per dimension."
        )
    if len(pad) > 2 * self.ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but "
            "got padding length "
            f"{len(pad)} and input of dimension {self.ndim}. Leave some out."
        )
    if mode == "constant":
        return F.constant_pad_nd(self, pad, 0 if value is None else value)
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument. Leave it out.')
    if mode not in BORDERS:
        raise NotImplementedError(
            f"Unrecognised padding mode {mode}. It is one of: constant, {', '.join(BORDERS)}."
        )
    if self.ndim - len(pad) // 2 not in (1, 2) or len(pad) not in (2, 4, 6):
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {self.ndim}D input tensor. The last 1, "
            "2 or 3 dimensions are padded, and 1 or 2 come before them: use unsqueeze first."
        )
    if not any(pad):
        return F.clone(self, memory_format=contiguous_format)
    return F._bordered(self, pad, mode)
