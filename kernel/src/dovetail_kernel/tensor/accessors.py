"""Attributes of tensors that compiled code reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..sockets import COMPILED_ACCESSOR
from .tensor_base import TensorBase

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..sockets import CompiledAccessor

__all__ = ["compile_accessors"]

_ACCESSORS: Final = (
    *("shape", "size", "stride", "dim", "ndim", "numel", "dtype", "device"),
    "requires_grad",
)


def compile_accessors(compiled: CompiledAccessor) -> None:
    """Fill the socket, and put what it makes of the getters and methods of `TensorBase` that read
    one tensor in their place. Calls but the first do nothing.
    """
    if COMPILED_ACCESSOR.is_filled:
        return
    COMPILED_ACCESSOR.fill(compiled)
    for name in _ACCESSORS:
        own: Any = TensorBase.__dict__[name]
        made: Any
        if isinstance(own, property):
            getter: Callable[..., Any] = own.fget  # type: ignore[assignment] # they all have one
            made = property(compiled(name, getter), own.fset, own.fdel, own.__doc__)
        else:
            made = compiled(name, own)
        setattr(TensorBase, name, made)
