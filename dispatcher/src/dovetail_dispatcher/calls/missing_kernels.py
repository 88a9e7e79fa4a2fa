"""Kernels that plugins offer for the namespace of an operator, loaded when a call lacks one."""

from __future__ import annotations

from dovetail_kernel import backends_of_signature, plugin_manager
from dovetail_kernel.plugins import KERNELS

from ..table.operator import Operator


def load_missing_kernels(op: Operator, key: int) -> bool:
    """Load what plugins offer as kernels of the operator's namespace on the backends of a call
    without kernel, and return whether there are some: the search may have loaded them itself.

    This must not hold the lock of the table: plugins that are being loaded by another thread wait
    for it.
    """
    backends = [
        each.name
        for each in backends_of_signature(key)
        if plugin_manager.provides(KERNELS, f"{op.namespace}.{each.name}")
    ]
    for name in backends:
        plugin_manager.load_kernels(op.namespace, name)
    return bool(backends)
