"""Array kernels of the base library, written once against an array namespace; every backend
registers them for itself.

They are functional: they never write to an argument, never use ``out=`` or item assignment, and
return new arrays unless their operator is a view. What a namespace does not offer that way comes
from the backend's `Capabilities`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, Protocol

from . import (
    activations,
    comparison,
    creation,
    indexing,
    losses,
    matmul,
    normalization,
    pointwise,
    random,
    reductions,
    shapes,
    views,
)
from .capabilities import Capabilities
from .dims import wrap_dim, wrap_dims
from .operands import Numbers, Precision
from .table import ArrayKernel, KernelTable

__all__ = [
    "ArrayKernel",
    "Define",
    "KernelTable",
    "Numbers",
    "Precision",
    "array_kernel_table",
    "register_array_kernels",
    "wrap_dim",
    "wrap_dims",
]

Define = Callable[[Any, KernelTable, Capabilities], None]

_FAMILIES: tuple[ModuleType, ...] = (
    pointwise,
    comparison,
    reductions,
    matmul,
    views,
    shapes,
    indexing,
    creation,
    random,
    activations,
    losses,
    normalization,
)


class ArrayLibrary(Protocol):
    """What kernels are registered on: a `dovetail_dispatcher.Library` of the namespace aten and a
    backend's key.
    """

    def array_impl(
        self,
        op_name: str,
        fn: Callable[..., Any],
        *,
        plain: Callable[..., Any] | None = None,
        into: Callable[..., Any] | None = None,
        into_any: Callable[..., Any] | None = None,
    ) -> None: ...


def array_kernel_table(
    xp: Any, capabilities: Capabilities, more: Sequence[Define] = ()
) -> KernelTable:
    """Return the array kernels for an array namespace.

    Parameters
    ----------
    xp
        A namespace with NumPy's names, such as `numpy` or `cupy`.
    capabilities
        What the backend supplies beyond it.
    more
        Functions ``define(xp, kernel, capabilities)`` that run afterwards; what they define takes
        the place of the generic kernel.
    """
    table = KernelTable()
    for define in (*[family.define for family in _FAMILIES], *more):
        define(xp, table, capabilities)
    return table


def register_array_kernels(m: ArrayLibrary, table: KernelTable) -> None:
    """Register the array kernels of a table on ``Library("aten", "IMPL", "CPU")`` or that of
    another backend's key.
    """
    for name, kernel in table.kernels.items():
        m.array_impl(
            name, kernel.fn, plain=kernel.plain, into=kernel.into, into_any=kernel.into_any
        )
