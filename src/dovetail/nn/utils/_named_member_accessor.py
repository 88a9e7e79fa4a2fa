"""Puts a tensor in place of one of a module, by the path that programs import."""

from __future__ import annotations

from typing import Any, Final

from dovetail_aten import Tensor

from ...names.missing import serve_names as _serve_names
from ..modules.module import Module

__all__: list[str] = []


_MISSING: Final = object()
"""Stands for no tensor: what `swap_tensor` returns and takes."""


def swap_tensor(module: Module, name: str, tensor: object, allow_missing: bool = False) -> Any:
    """Let `module` have `tensor` as its parameter, buffer or attribute `name`, and return what it
    had.

    Parameters
    ----------
    tensor
        A tensor or None; `_MISSING` takes away what there is.
    allow_missing
        Whether the module may have none: `_MISSING` is returned then.

    Raises
    ------
    TypeError
        For another module, another value, or where the module has something else.
    KeyError
        For a name with a dot or without letters.
    AttributeError
        If the module has none.
    """
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of dovetail.nn.Module")
    if tensor is not _MISSING and not (tensor is None or isinstance(tensor, Tensor)):
        raise TypeError(f"{tensor} is not an instance of dovetail.Tensor")
    if not name or "." in name:
        raise KeyError(f"tensor name must be one part of a path, but got {name!r}")
    tables: tuple[dict[str, Any], ...] = (module._parameters, module._buffers)
    for table in tables:
        if name in table:
            before = table.pop(name) if tensor is _MISSING else table[name]
            if tensor is not _MISSING:
                table[name] = tensor
            return before
    found = getattr(module, name, _MISSING)
    if found is _MISSING and not allow_missing:
        raise AttributeError(f"{module._get_name()} has no attribute {name!r}")
    if found is not _MISSING and not isinstance(found, Tensor):
        raise TypeError(f"attribute {name!r}: {found} is not an instance of dovetail.Tensor")
    if tensor is not _MISSING:
        setattr(module, name, tensor)
    elif found is not _MISSING:
        delattr(module, name)
    return found


_serve_names(__name__)
