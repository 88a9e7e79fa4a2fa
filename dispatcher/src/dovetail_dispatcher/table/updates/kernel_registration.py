"""Puts kernels of operators into the table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dovetail_kernel import DispatchKey, warn_user_once

from .. import registry
from ..kernels import Kernel
from ..operator import Operator
from .changes import Change, make
from .redefinition import take_out


def add_kernel(name: str, overload: str, kernel: Kernel, owner: list[Change]) -> KernelChange:
    """Register `kernel` at its key, for `owner`, above earlier kernels. Reverting the change
    restores the earlier kernel.

    If the same code registers a kernel again, the new kernel replaces the earlier one. Other code
    overrides it, with a warning once per process.
    """
    with registry.lock:
        op = registry.find_or_add(name, overload)
        try:
            change = _kernel_change(op, kernel)
            make(change, owner)
            return change
        except BaseException:  # a warning that is an error, an interrupt: leave no trace
            registry.drop_if_empty(op)
            raise


def add_kernels(rows: Iterable[tuple[str, str, Kernel]], owner: list[Change]) -> None:
    """Register all kernels of a library at once, like `add_kernel`.

    Parameters
    ----------
    rows
        Name, overload and kernel. Each operator occurs once per key.
    owner
        The owner of the changes.
    """
    with registry.lock:
        fresh = []
        for name, overload, kernel in rows:
            op = registry.find(name, overload)
            if op is not None and op.kernels.get(kernel.key):
                add_kernel(name, overload, kernel, owner)
            else:
                fresh.append((name, overload, kernel))
        make(ManyKernels(fresh), owner)


def _kernel_change(op: Operator, kernel: Kernel) -> KernelChange:
    """Return what puts `kernel` on top, after a warning if it covers one of other code."""
    stack = op.kernels.get(kernel.key, [])
    earlier = next(iter([old for old in stack if old.is_run_again_as(kernel)]), None)
    in_force = next(iter([old for old in stack if old.when is None]), None)
    if (
        in_force is not None
        and earlier is None
        and kernel.when is None
        and in_force.fn is not kernel.fn
        and kernel.key is not DispatchKey.Meta
    ):
        _warn_of_override(op, in_force, kernel)
    return KernelChange(op, kernel, earlier)


class KernelChange(Change):
    """A kernel on top of those at its key, in place of the one by the same code run before."""

    __slots__ = ("_earlier", "_kernel", "_op")

    def __init__(self, op: Operator, kernel: Kernel, earlier: Kernel | None) -> None:
        self._op = op
        self._kernel = kernel
        self._earlier = earlier

    def apply(self) -> None:
        """Put the kernel on top."""
        kernels, kernel = self._op.kernels, self._kernel
        with registry.changing([self._op]):
            stack = [each for each in kernels.get(kernel.key, ()) if each is not self._earlier]
            stack.insert(_place(kernel, stack), kernel)
            kernels[kernel.key] = stack

    def exchange(self, kernel: Kernel) -> bool:
        """Put another kernel in place of this one, beneath those that have been registered
        since; return whether it is there.
        """
        with registry.lock, registry.changing([self._op]):
            if not self._op.exchange_kernel(self._kernel, kernel):
                return False
            self._kernel = kernel
            return True

    def take_out(self) -> None:
        """Take the kernel out, wherever it lies by now."""
        _take_out_kernel(self._op, self._kernel)


def _place(kernel: Kernel, stack: Sequence[Kernel]) -> int:
    """Return where among the others at its key a kernel belongs.

    A program's is the first. Plugins are loaded when something asks for them, so their place is not
    that of the moment: a kernel without a condition stands beneath those with one. One with a
    condition stands beneath the program's kernels, and beneath those of distributions whose names
    come before its own.
    """
    if kernel.plugin is None:
        return 0
    place, name = 0, kernel.plugin.distribution
    for each in stack:
        if kernel.when is None:
            comes_before = each.when is not None
        elif each.plugin is None:
            comes_before = True
        else:
            comes_before = each.when is not None and each.plugin.distribution < name
        if not comes_before:
            break
        place += 1
    return place


class ManyKernels(Change):
    """Kernels of many operators at keys where these had none."""

    __slots__ = ("_rows",)

    def __init__(self, rows: Sequence[tuple[str, str, Kernel]]) -> None:
        self._rows = rows

    def apply(self) -> None:
        """Put every kernel in its place."""
        for name, overload, kernel in self._rows:
            op = registry.find_or_add(name, overload)
            op.forget_routes()
            op.kernels[kernel.key] = [kernel]
        registry.count_change()

    def take_out(self) -> None:
        """Take the kernels out, wherever they lie by now."""
        for name, overload, kernel in self._rows:
            op = registry.find(name, overload)
            if op is not None:
                _take_out_kernel(op, kernel)


def _take_out_kernel(op: Operator, kernel: Kernel) -> None:
    if any([kernel in layer.kernels.get(kernel.key, ()) for layer in op.layers()]):
        with registry.changing([op]):
            take_out(op, [kernel])
    registry.drop_if_empty(op)


def _warn_of_override(op: Operator, old: Kernel, new: Kernel) -> None:
    warn_user_once(
        "Overriding a previously registered kernel for the same operator and the same dispatch "
        f"key: {op.qualified_name}, {new.key.name}; previous kernel registered at {old.origin}, "
        f"new kernel registered at {new.origin}. Further overrides in this process are not "
        "reported.",
        site="overridden kernel",
    )
