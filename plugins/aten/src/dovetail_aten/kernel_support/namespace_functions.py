"""Elementwise operators whose array kernel is the function of the namespace that has their name.

Neither the operator nor its kernel is named here: `hypot` is declared, and `numpy.hypot` is there.
"""

from __future__ import annotations

from collections.abc import Iterator

from dovetail_dispatcher import Operator
from dovetail_dispatcher.table import registry

from ..typing import Namespace
from .capabilities import Capabilities
from .table import KernelTable

_KEEPS_DTYPE = ("same", "int_to_float")
"""Promotions whose result has the dtype of the operands as they come to the kernel."""


def define_namespace_functions(
    xp: Namespace, kernel: KernelTable, capabilities: Capabilities
) -> None:
    """Define them in a table, before the families define all others."""
    for op in _elementwise_operators():
        function = getattr(xp, op.base_name, None)
        if function is not None:
            kernel(
                op.base_name,
                function,
                out_function=function if op.promotion in _KEEPS_DTYPE else None,
            )


def _elementwise_operators() -> Iterator[Operator]:
    """Yield the functional elementwise operators of one overload that are not made of others."""
    for op in registry.all_operators():
        if op.namespace != "aten" or op.kind != "pointwise" or op.overload:
            continue
        if op.variant_of is None and not any(["Composite" in key.name for key in op.kernels]):
            yield op
