"""The kernel table: operators whose kernels are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail_kernel.sockets import UNINITIALIZED_MEMORY
from dovetail_kernel.types import UNINITIALIZED

from ._core import CompiledKernel, UfuncLoop, kernel_names, set_filled_memory

NAMES: Final = frozenset(kernel_names())

UNINITIALIZED_MEMORY.add(set_filled_memory)
set_filled_memory(UNINITIALIZED.is_filled)

ROUNDED_ONCE: Final = "rounded_once"
"""The operator that is a ufunc, its reference, on half precision beside single numbers."""


def compiled_operator(operator: str, reference: Callable[..., Any]) -> Callable[..., Any]:
    """Return the compiled kernel of an operator before its reference, or the reference itself if
    the table has no such operator.
    """
    if operator == ROUNDED_ONCE:
        return _rounded_once(reference)
    return CompiledKernel(operator, reference) if operator in NAMES else reference


def _rounded_once(reference: Callable[..., Any]) -> Callable[..., Any]:
    """Return the loop of a ufunc for half precision; any other function as it is."""
    ufunc: Any = getattr(reference, "__wrapped__", reference)
    try:
        return UfuncLoop(ufunc, takes_singles=True)
    except (TypeError, ValueError):  # no ufunc, or one without such a loop
        return reference
