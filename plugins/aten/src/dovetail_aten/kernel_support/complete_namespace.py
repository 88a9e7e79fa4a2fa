"""An array namespace in which every name is found: what it has not says so when a kernel uses it,
and not before.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from dovetail_kernel import backend, has_backend


class Missing:
    """Stands for a function that a namespace has not; says so when a kernel calls it."""

    def __init__(self, name: str, namespace: object, device_type: str) -> None:
        self._place = (name, namespace, device_type)

    def __getattr__(self, name: str) -> Missing:
        if name.startswith("__"):
            raise AttributeError(name)
        own, namespace, device_type = self._place
        return Missing(f"{own}.{name}", namespace, device_type)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse. Always raises NotImplementedError, with what to write."""
        name, namespace, device_type = self._place
        # A kernel may call it while the backend is being registered.
        known = has_backend(device_type)
        key = backend(device_type).key_name if known else device_type.upper()
        raise NotImplementedError(
            f"an operator of backend {device_type!r} needs {name!r}, which its namespace "
            f"{getattr(namespace, '__name__', namespace)} lacks. "
            "Add a function of that name to the namespace, or "
            "register another kernel for the operator: Library('aten', 'IMPL', "
            f"{key!r}).array_impl(...)"
        )


def complete(namespace: object, device_type: str) -> ModuleType:
    """Return `namespace` as a module in which what it has not is `Missing`: reading it costs no
    more than before.
    """
    made = ModuleType(f"{getattr(namespace, '__name__', 'namespace')} on {device_type}")

    def find(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            found = getattr(namespace, name)
        except AttributeError:
            found = Missing(name, namespace, device_type)
        made.__dict__[name] = found
        return found

    made.__dict__["__getattr__"] = find
    return made
