"""`dovetail.ops`: namespaces of operators, made when first touched."""

from __future__ import annotations

from types import ModuleType
from typing import Final
from weakref import WeakValueDictionary

from dovetail_kernel import plugin_manager
from dovetail_kernel.errors import did_you_mean
from dovetail_kernel.plugins import LIBRARIES

from ..table import registry
from .overloads import OpOverloadPacket, packet_of


class _OpNamespace(ModuleType):
    """The operators of one namespace: ``ops.aten``."""

    def __init__(self, name: str) -> None:
        super().__init__(f"dovetail.ops.{name}")
        self._name = name

    def __getattr__(self, name: str) -> OpOverloadPacket:
        qualified = f"{self._name}::{name}"
        if name.startswith("__") and not registry.is_defined(qualified):
            raise AttributeError(
                name
            )  # the interpreter asks for all sorts of names, which should load no library
        if not registry.is_defined(qualified):
            _load_library(self._name)
        with (
            registry.lock
        ):  # while another definition is put over one, or taken off it, there is none for a moment
            if registry.is_defined(qualified):
                packet = self.__dict__[name] = packet_of(
                    qualified
                )  # found there from now on, until `_forget_packet`
                return packet
        if qualified in registry.left_out:
            raise AttributeError(registry.left_out[qualified])
        raise AttributeError(
            f"'_OpNamespace' '{self._name}' object has no attribute '{name}'.{self._hint(name)}"
        )

    def _hint(self, name: str) -> str:
        """Return what may have been meant: another operator, or where there is none at all, another
        namespace.
        """
        known = self._names()
        if known:
            return did_you_mean(name, known)
        namespaces = {each.partition("::")[0] for each in list(registry.operators)} | {
            *plugin_manager.namespaces()
        }
        others = did_you_mean(self._name, sorted(namespaces))
        return (
            " Nothing is registered in the namespace "
            f"{self._name!r}.{others} Import the library that defines "
            "it."
        )

    def _names(self) -> list[str]:
        prefix = f"{self._name}::"
        return [n[len(prefix) :] for n in list(registry.operators) if n.startswith(prefix)]

    def __dir__(self) -> list[str]:
        _load_library(self._name)
        return self._names()


def _load_library(namespace: str) -> None:
    """Load the installed library of `namespace`, if there is one and it is not being loaded
    already.
    """
    if plugin_manager.provides(LIBRARIES, namespace):
        plugin_manager.load_library(namespace)


def _forget_packet(qualified: str) -> None:
    """Let the next look into a namespace find that a name is not defined any more."""
    if registry.is_defined(qualified):
        return
    namespace, _, name = qualified.partition("::")
    module = _namespaces.get(namespace)
    if module is not None:
        module.__dict__.pop(name, None)
        if not registry.defines_in(namespace):
            ops.__dict__.pop(namespace, None)  # the next look makes it, or finds who holds it still


_namespaces: Final[WeakValueDictionary[str, _OpNamespace]] = WeakValueDictionary()

registry.definition_observers.append(_forget_packet)


class _Ops(ModuleType):
    """``dovetail.ops``: any name is a namespace; a library of that name is loaded when it is first
    touched.
    """

    def __init__(self) -> None:
        super().__init__("dovetail.ops")
        self.loaded_libraries: set[str] = set()

    def __getattr__(self, name: str) -> _OpNamespace:
        if name.startswith("__"):
            raise AttributeError(name)
        namespace = _namespaces.get(name)
        if namespace is None:
            namespace = _namespaces.setdefault(name, _OpNamespace(name))
        self.__dict__[name] = namespace
        return namespace

    def load_library(self, path: str) -> None:
        """Load a shared library, whose initialisers may register operators through this Python
        interpreter. Raises OSError if it cannot be loaded. Libraries built against PyTorch need
        PyTorch.
        """
        from ctypes import CDLL

        try:
            CDLL(str(path))
        except OSError as reason:
            raise OSError(f"Could not load this library: {path}. {reason}") from reason
        self.loaded_libraries.add(str(path))

    def import_module(self, module: str) -> None:
        """Import a module that registers operators."""
        from importlib import import_module

        import_module(module)


ops = _Ops()
