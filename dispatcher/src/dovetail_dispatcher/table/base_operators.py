"""Looks up the operators of the base library that the dispatcher itself calls."""

from __future__ import annotations

from typing import Any, Literal

from ..sockets import BASE_OPERATORS
from . import registry


def has_base_operators() -> bool:
    """Return whether a base library is in use whose tensors need no data."""
    return bool(BASE_OPERATORS.plug.empty_strided)


def base_operator(
    role: Literal["detach", "clone", "ones_like", "convert", "move", "empty_strided"],
) -> Any:
    """Return the operator of the base library with a role.

    Parameters
    ----------
    role
        A field of `BaseOperators`.

    Raises
    ------
    RuntimeError
        Without a base library.
    """
    name: str = getattr(BASE_OPERATORS.plug, role)
    if not name:
        raise RuntimeError(
            f"This needs an operator of a base library ({role}), and none is in use. Install "
            "dovetail-aten, or import the library that declares its operators in BASE_OPERATORS."
        )
    return registry.find_or_throw(*name.partition(".")[::2]).handle
