"""Views in place: a tensor shows afterwards what the view of it does, and its graph says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail_dispatcher import dispatch_modes
from dovetail_dispatcher.calls import become, check_inference_write
from dovetail_kernel import (
    AutoDispatchBelowADInplaceOrView,
    DispatchKey,
    TensorBase,
    dispatch_state,
    restoring,
    show_view,
)
from dovetail_kernel.keys import PYTHON_DISPATCH
from dovetail_kernel.signature import NORMAL, WRAPPED_BIT
from dovetail_kernel.sockets import AUTOGRAD

from ...._generated import functions as F


def squeeze_in_place(self: Any, *dim: Any) -> Any:
    """Take away dimensions of one element: all, or those that are named."""
    return _show(self, "squeeze_", *dim)


def unsqueeze_in_place(self: Any, dim: int) -> Any:
    """Put in a dimension of one element."""
    return _show(self, "unsqueeze_", dim)


def t_in_place(self: Any) -> Any:
    """Swap the two dimensions of a matrix."""
    return _show(self, "t_")


def transpose_in_place(self: Any, dim0: int, dim1: int) -> Any:
    """Swap two dimensions."""
    return _show(self, "transpose_", dim0, dim1)


def as_strided_in_place(
    self: Any, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Any:
    """Show any part of the storage."""
    return _show(self, "as_strided_", size, stride, storage_offset)


def _show(self: TensorBase, name: str, *args: Any) -> TensorBase:
    """Let a tensor show what a view of it does; where arrays cannot be written, it notes how."""
    if not self._signature & NORMAL:
        check_inference_write(self)
    view = getattr(F, name[:-1])
    if dispatch_modes.modes and _reaches_modes(self):
        _show_in_modes(self, name, view, *args)
    else:
        become(self, show_view(self, name, lambda: view(self, *args)))
    return self


def _reaches_modes(self: TensorBase) -> bool:
    now = dispatch_state()
    included = DispatchKey.Python in now.included - now.excluded
    return included and not self._signature & (WRAPPED_BIT | PYTHON_DISPATCH)


@restoring()
def _show_in_modes(
    self: TensorBase, name: str, view: Callable[..., TensorBase], *args: Any
) -> None:
    """Let the modes run the operator `name` itself; the graph is that of the view."""
    autograd = AUTOGRAD.plug
    autograd.check_inplace_view(self, name)
    shown = dispatch_modes.disabled().around(view, self, *args)
    with AutoDispatchBelowADInplaceOrView():
        getattr(F, name)(self, *args)
    autograd.take_history(self, shown)
