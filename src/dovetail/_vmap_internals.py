"""Deprecated path of `dovetail.func.vmap`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .func import vmap
from .names.missing import serve_names as _serve_names

__all__ = ["vmap"]


def _vmap(
    func: Callable[..., object],
    in_dims: object = 0,
    out_dims: object = 0,
    allow_none_pass_through: bool = False,
) -> Any:
    """Return `vmap` of `func`; `allow_none_pass_through` lets it return None among its results."""
    return vmap(func, in_dims, out_dims)


_serve_names(__name__, remedy="Use dovetail.func.vmap.")
