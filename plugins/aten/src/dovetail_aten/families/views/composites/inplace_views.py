"""Views in place: a tensor shows afterwards what the view of it does, and its graph says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail_dispatcher.calls import become, check_inference_write
from dovetail_kernel import TensorBase, show_view
from dovetail_kernel.signature import NORMAL

from ...._generated import functions as F


def squeeze_in_place(self: Any, *dim: Any) -> Any:
    """Take away dimensions of one element: all, or those that are named."""
    _show(self, "squeeze_", lambda: F.squeeze(self, *dim))
    return self


def unsqueeze_in_place(self: Any, dim: int) -> Any:
    """Put in a dimension of one element."""
    _show(self, "unsqueeze_", lambda: F.unsqueeze(self, dim))
    return self


def t_in_place(self: Any) -> Any:
    """Swap the two dimensions of a matrix."""
    _show(self, "t_", lambda: F.t(self))
    return self


def transpose_in_place(self: Any, dim0: int, dim1: int) -> Any:
    """Swap two dimensions."""
    _show(self, "transpose_", lambda: F.transpose(self, dim0, dim1))
    return self


def as_strided_in_place(
    self: Any, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Any:
    """Show any part of the storage."""
    _show(self, "as_strided_", lambda: F.as_strided(self, size, stride, storage_offset))
    return self


def _show(self: TensorBase, name: str, view: Callable[[], TensorBase]) -> None:
    """Let a tensor show what a view of it does; where arrays cannot be written, it notes how."""
    if not self._signature & NORMAL:
        check_inference_write(self)
    become(self, show_view(self, name, view))
