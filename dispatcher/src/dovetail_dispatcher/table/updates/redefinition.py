"""Finds the kernels that a definition by the same code run again takes with it."""

from __future__ import annotations

from collections.abc import Iterable

from ...schema import FunctionSchema
from ..kernel_signatures import check_kernel
from ..kernels import Kernel
from ..operator import Operator
from ..registrars import Registrar


def stale_kernels(op: Operator, schema: FunctionSchema, again: Registrar | None) -> list[Kernel]:
    """Return the kernels that go with the definition that the code `again`, run again, replaces.

    These are what the same file registered the last time, and what the same module registered for
    another schema. Raises TypeError if another kernel cannot have this schema.
    """
    stale = []
    for kernel in [kernel for stack in op.kernels.values() for kernel in stack]:
        own = kernel.registrar
        if again is not None and again.repeats(own):
            stale.append(kernel)
            continue
        try:
            check_kernel(kernel, schema, op.qualified_name)
        except TypeError:
            if again is None or own is None or own.name != again.name:
                raise
            stale.append(kernel)
    return stale


def take_out(op: Operator, kernels: Iterable[Kernel]) -> None:
    """Take kernels out of an operator, also out of its covered definitions."""
    for kernel in kernels:
        for layer in op.layers():
            stack = layer.kernels.get(kernel.key, [])
            if kernel in stack:
                others = [each for each in stack if each is not kernel]
                if others:
                    layer.kernels[kernel.key] = others
                else:
                    del layer.kernels[kernel.key]
