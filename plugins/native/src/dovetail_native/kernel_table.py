"""The kernel table: operators whose kernels are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ._core import CompiledKernel, kernel_names

NAMES: Final = frozenset(kernel_names())


def compiled_operator(operator: str, reference: Callable[..., Any]) -> Callable[..., Any]:
    """Return the compiled kernel of an operator before its reference, or the reference itself if
    the table has no such operator.
    """
    return CompiledKernel(operator, reference) if operator in NAMES else reference
