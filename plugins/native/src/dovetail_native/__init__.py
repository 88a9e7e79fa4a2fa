"""The compiled core of Dovetail.

The dispatcher loads it if it is installed (`dovetail_dispatcher.compiled_code`). Without a compiled
module the package does nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dovetail_dispatcher.compiled_code import VARIABLE, is_required
from dovetail_dispatcher.sockets import (
    COMPILED_ENTRY,
    COMPILED_KERNEL,
    COMPILED_OPERATOR,
    COMPILED_ROUTE,
)
from dovetail_kernel import hookimpl
from dovetail_kernel.keys import STATE, StateGuard
from dovetail_kernel.short_tracebacks import shorten_traceback
from dovetail_kernel.sockets import EXCHANGE_API
from dovetail_kernel.tensor import compile_accessors

from .loading import load_core

if TYPE_CHECKING:
    from dovetail_dispatcher.calls import RoutePlan

__all__ = ["dovetail_load"]


@hookimpl
def dovetail_load() -> None:
    """Fill the sockets of dispatcher and kernel.

    Raises
    ------
    ImportError
        If the compiled module cannot be loaded, was built of other sources, or is required and
        missing.
    """
    if load_core() is None:
        if is_required():
            raise ImportError(
                f"{VARIABLE}=1 requires compiled code, and this dovetail-native has none: it was "
                "built without a C compiler. Install one, then reinstall dovetail-native."
            )
        return
    from ._core import set_guard, set_shorten_traceback
    from .classes import exchange_capsule, tell_overrides
    from .entries import compiled_accessor, compiled_entry
    from .kernel_table import compiled_operator
    from .ufunc_loops import compiled_kernel

    set_shorten_traceback(shorten_traceback)
    set_guard(StateGuard, STATE)
    tell_overrides()
    compile_accessors(compiled_accessor)
    EXCHANGE_API.fill(exchange_capsule)
    COMPILED_ENTRY.fill(compiled_entry)
    COMPILED_KERNEL.fill(compiled_kernel)
    COMPILED_OPERATOR.fill(compiled_operator)
    COMPILED_ROUTE.fill(_compiled_route)


def _compiled_route(plan: RoutePlan) -> Callable[..., Any] | None:
    """Import what lowers plans, and lower the first one."""
    from .lowering import compiled_route

    COMPILED_ROUTE.fill(compiled_route)
    return compiled_route(plan)
