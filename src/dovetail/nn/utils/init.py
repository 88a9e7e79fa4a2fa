"""Creation of a module without initialising its parameters."""

from __future__ import annotations

import inspect
from typing import Any, TypeVar

from ..modules.module import Module

M = TypeVar("M", bound=Module)


def skip_init(module_cls: type[M], *args: Any, **kwargs: Any) -> M:
    """Return ``module_cls(*args, **kwargs)`` with uninitialised parameters and buffers.

    Parameters
    ----------
    module_cls : type
        A module class whose constructor has an argument ``device``.
    *args, **kwargs
        Its arguments.

    Raises
    ------
    RuntimeError
        If it is not a module class, or if its constructor has no argument ``device``.
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}. Pass a class of modules.")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError(
            f"Module must support a 'device' arg to skip initialization, but {module_cls.__name__} "
            "has none. Make it as usual."
        )
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, device="meta", **kwargs).to_empty(device=device)
