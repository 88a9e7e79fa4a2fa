"""Keeps the kernels that wait for a backend, and lists those that no call can reach."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from dovetail_kernel import (
    Backend,
    DispatchKey,
    dispatch_key_for_device,
    has_backend,
    on_new_backend,
)
from dovetail_kernel.devices import is_device_type

from .. import registry
from .changes import Change, make, open_transaction, take_back


class PendingKernel(NamedTuple):
    """A registration that no call can reach.

    Attributes
    ----------
    operator
        Qualified name, ``"ns::f.overload"``.
    key
        The name of the dispatch key; None while the backend is missing.
    backend
        The missing device type, or None.
    origin
        The location of the registration.
    """

    operator: str
    key: str | None
    backend: str | None
    origin: str

    def __str__(self) -> str:
        missing = f"a backend {self.backend!r}" if self.backend else "a definition"
        return (
            f"{self.operator} at {self.key or self.backend}, "
            f"registered at {self.origin}, waits for {missing}"
        )


class _WaitingKernel(Change):
    """A kernel that is registered when its backend appears."""

    __slots__ = ("made", "record", "register")

    def __init__(
        self, record: PendingKernel, register: Callable[[DispatchKey, list[Change]], None]
    ) -> None:
        self.record = record
        self.register = register
        self.made: list[Change] = []

    def apply(self) -> None:
        """Let the kernel wait."""
        _waiting.append(self)

    def take_out(self) -> None:
        """Let it wait no more, and take back the kernel if its backend has appeared."""
        if self in _waiting:
            _waiting.remove(self)
        take_back(self.made)


_waiting: Final[list[_WaitingKernel]] = []


def check_pending() -> list[PendingKernel]:
    """Return the kernels that no call can reach, because their operator or their backend is
    missing.

    An empty list means that all registered kernels can be called. Kernels under a misspelt operator
    name are listed here.
    """
    return pending_in("")


def pending_in(prefix: str) -> list[PendingKernel]:
    """Return what `check_pending` does, of the operators whose names begin with `prefix`."""
    with registry.lock:
        dangling = [
            PendingKernel(op.qualified_name, kernel.key.name, None, kernel.origin)
            for name, overloads in list(registry.operators.items())
            if name.startswith(prefix)
            for op in list(overloads.values())
            if not op.is_defined
            for stack in op.kernels.values()
            for kernel in stack
        ]
        waiting = [each.record for each in _waiting if each.record.operator.startswith(prefix)]
        return [*dangling, *waiting]


def register_when_there(
    backend: str,
    operator: str,
    origin: str,
    register: Callable[[DispatchKey, list[Change]], None],
    owner: list[Change],
) -> None:
    """Call `register` with the dense key of a device type: now, or as soon as there is such a
    backend.
    """
    is_known = is_device_type(backend)  # which may read metadata, and load kernels
    with registry.lock:
        if is_known or has_backend(backend):
            register(dispatch_key_for_device(backend), owner)
        else:
            record = PendingKernel(operator, None, backend, origin)
            make(_WaitingKernel(record, register), owner)


def _register_waiting(backend: Backend) -> None:
    with registry.lock:
        # Not for the plugin that brings the backend: if that fails, the kernel need not wait again,
        # for a backend that was named once stays.
        loading = open_transaction.get()
        try:
            open_transaction.set(None)
            for waiting in [each for each in _waiting if each.record.backend == backend.name]:
                waiting.register(dispatch_key_for_device(backend.name), waiting.made)
                _waiting.remove(waiting)
        finally:
            open_transaction.set(loading)


on_new_backend(_register_waiting)
