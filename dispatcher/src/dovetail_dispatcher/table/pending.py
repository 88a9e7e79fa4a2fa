"""Kernels that wait: for the definition of their operator, or for a backend that is not there
yet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from dovetail_kernel import Backend, DispatchKey, dispatch_key_for_device, on_new_backend
from dovetail_kernel.devices.backends import is_device_type

from . import registry


class PendingKernel(NamedTuple):
    """One registration that no call can reach.

    Attributes
    ----------
    operator
        Qualified name, ``"ns::f.overload"``.
    key
        The name of its dispatch key; None while its backend is missing.
    backend
        The device type that it waits for, or None.
    origin
        Where it was registered.
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


@dataclass(eq=False)
class _Waiting:
    record: PendingKernel
    register: Callable[[DispatchKey, list[registry.Undo]], None]
    undos: list[registry.Undo]


_waiting: Final[list[_Waiting]] = []


def check_pending() -> list[PendingKernel]:
    """Return the kernels that no call can reach: without definition of their operator, or without
    their backend.

    An empty list says that everything that was registered can be used. A misspelt operator name
    shows up here.
    """
    with registry.lock:
        dangling = [
            PendingKernel(op.qualified_name, kernel.key.name, None, kernel.origin)
            for op in registry.all_operators()
            if not op.is_defined
            for stack in op.kernels.values()
            for kernel in stack
        ]
        return [*dangling, *[each.record for each in _waiting]]


def register_when_there(
    backend: str,
    operator: str,
    origin: str,
    register: Callable[[DispatchKey, list[registry.Undo]], None],
    undos: list[registry.Undo],
) -> None:
    """Call `register` with the dense key of a device type: now, or as soon as there is such a
    backend.
    """
    with registry.lock:
        if is_device_type(backend):
            register(dispatch_key_for_device(backend), undos)
            return
        waiting = _Waiting(PendingKernel(operator, None, backend, origin), register, [])

        def undo() -> None:
            with registry.lock:
                if waiting in _waiting:
                    _waiting.remove(waiting)
                registry.take_back(waiting.undos)

        registry.keep(undo, undos)
        _waiting.append(waiting)


def _register_waiting(backend: Backend) -> None:
    with registry.lock:
        for waiting in [each for each in _waiting if each.record.backend == backend.name]:
            _waiting.remove(waiting)
            waiting.register(dispatch_key_for_device(backend.name), waiting.undos)


on_new_backend(_register_waiting)
