"""Refusals of dtypes that an operator has no implementation for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail_kernel.types.dtype import FLOAT

from .capabilities import Capabilities


def float_only(capabilities: Capabilities) -> Callable[[str, Any], None]:
    """Return the check ``(operator, array)`` that raises NotImplementedError unless the array is
    floating point.
    """
    dtypes = capabilities.dtypes

    def check(operator: str, array: Any) -> None:
        dtype = dtypes[array.dtype]
        if dtype.category < FLOAT:
            raise NotImplementedError(
                f"\"{operator}\" not implemented for '{dtype.scalar_name}'. Convert to a "
                "floating-point dtype first."
            )

    return check
