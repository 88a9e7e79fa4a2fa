"""Attributes of tensors, and guards of the dispatch state, that compiled code takes over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..keys.state import StateGuard
from ..sockets import COMPILED_ACCESSOR
from .size import Size
from .tensor_base import TensorBase

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..sockets import CompiledAccessor

_ACCESSORS: Final = (
    *("shape", "size", "stride", "dim", "ndim", "numel", "dtype", "device"),
    *("is_cpu", "is_cuda", "is_meta", "data_ptr", "storage_offset"),
    *("requires_grad", "requires_grad_", "grad"),
)


def compile_accessors(compiled: CompiledAccessor) -> None:
    """Fill the socket, and put what it makes of getters and methods of `TensorBase`, of the items
    of a `Size`, and of the methods by which a guard is entered and left, in their place. Calls but
    the first do nothing.
    """
    if COMPILED_ACCESSOR.is_filled:
        return
    COMPILED_ACCESSOR.fill(compiled)
    for name in _ACCESSORS:
        own: Any = TensorBase.__dict__[name]
        made: Any
        if isinstance(own, property):
            getter: Callable[..., Any] = own.fget  # type: ignore[assignment] # they all have one
            setter: Any = own.fset
            if name == "requires_grad":
                setter = compiled("set_requires_grad", setter)
            made = property(compiled(name, getter), setter, own.fdel, own.__doc__)
        else:
            made = compiled(name, own)
        setattr(TensorBase, name, made)
    for owner, name in ((Size, "__getitem__"), (StateGuard, "__enter__"), (StateGuard, "__exit__")):
        setattr(owner, name, compiled(name, owner.__dict__[name]))
