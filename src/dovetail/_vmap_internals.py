"""Deprecated path of `dovetail.func.vmap`."""

from __future__ import annotations

import typing as _typing
from collections.abc import Callable
from typing import Any

from .func import vmap
from .names.missing import names_of as _names_of

__all__ = ["vmap"]


def _vmap(
    func: Callable[..., object],
    in_dims: object = 0,
    out_dims: object = 0,
    allow_none_pass_through: bool = False,
) -> Any:
    """Return `vmap` of `func`; `allow_none_pass_through` lets it return None among its results."""
    return vmap(func, in_dims, out_dims)


if not _typing.TYPE_CHECKING:  # a type checker would take any name for one of these
    __getattr__ = _names_of(__name__, remedy="Use dovetail.func.vmap.")
