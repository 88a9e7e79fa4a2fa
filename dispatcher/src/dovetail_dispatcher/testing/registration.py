"""Where the `OpInfo` of each namespace are: libraries say so, test suites ask."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from dovetail_kernel import plugin_manager

from ..table import registry
from ..table.updates.changes import Change, make

if TYPE_CHECKING:
    from .op_info import OpInfo

_loaders: Final[dict[str, list[Callable[[], Iterable[OpInfo]]]]] = {}
_loaded: Final[dict[str, list[OpInfo]]] = {}


def register_op_infos(namespace: str, loader: Callable[[], Iterable[OpInfo]]) -> None:
    """Register a loader for the `OpInfo` objects of a namespace.

    If a transaction such as the loading of a plugin is rolled back, so is the registration.

    Parameters
    ----------
    namespace
        The namespace of the operators.
    loader
        Function that returns them; called on first access, so that only tests import samples and
        references.
    """
    make(OpInfoChange(namespace, loader), [])


class OpInfoChange(Change):
    """Where the `OpInfo` of a namespace are, until the transaction around it fails."""

    __slots__ = ("_loader", "_namespace")

    def __init__(self, namespace: str, loader: Callable[[], Iterable[OpInfo]]) -> None:
        self._namespace = namespace
        self._loader = loader

    def apply(self) -> None:
        _loaders.setdefault(self._namespace, []).append(self._loader)
        _loaded.pop(self._namespace, None)

    def take_out(self) -> None:
        loaders = _loaders.get(self._namespace, [])
        if self._loader in loaders:
            loaders.remove(self._loader)
        if not loaders:
            _loaders.pop(self._namespace, None)
        _loaded.pop(self._namespace, None)


def op_infos(namespace: str) -> list[OpInfo]:
    """Return the `OpInfo` of a namespace, ordered by name; an installed library is loaded.

    Raises
    ------
    RuntimeError
        If there are none, if two describe the same operator, or if one belongs to another
        namespace.
    """
    if namespace in plugin_manager.namespaces():
        plugin_manager.load_library(namespace)
    found = _loaded.get(namespace)
    if found is None:  # loaded without a lock: loaders import modules
        loaders = list(_loaders.get(namespace, []))
        infos = [info for loader in loaders for info in loader()]
        found = sorted(infos, key=lambda info: info.name)
        _check(namespace, found)
        if loaders == _loaders.get(namespace):
            _loaded[namespace] = found
    return list(found)


def find_op_info(name: str) -> OpInfo | None:
    """Return the `OpInfo` of an operator by its qualified name, or None if nothing describes it."""
    namespace = name.partition("::")[0]
    if namespace not in _loaders:
        return None
    return next((info for info in op_infos(namespace) if info.name == name), None)


def operators_without_op_info(namespace: str) -> list[str]:
    """Return the names of operators without an `OpInfo`, with the locations of their definitions.

    In-place and out variants derived from an operator are tested with the operator.
    """
    described = {id(info.operator) for info in op_infos(namespace)}
    return sorted(
        f"{op.qualified_name}, defined at {op.defined_at}"
        for op in registry.all_operators()
        if op.namespace == namespace and op.is_defined and op.variant_of is None
        if id(op) not in described
    )


def _check(namespace: str, found: list[OpInfo]) -> None:
    if not found:
        raise RuntimeError(
            f"namespace {namespace!r} has no OpInfo. Register them where its library is loaded: "
            f"register_op_infos({namespace!r}, loader)."
        )
    foreign = [info.name for info in found if not info.name.startswith(f"{namespace}::")]
    if foreign:
        raise RuntimeError(
            f"OpInfo of {', '.join(foreign)} are registered for namespace {namespace!r}. Register "
            "them for their own."
        )
    twice = [name for name, count in Counter(info.name for info in found).items() if count > 1]
    if twice:
        raise RuntimeError(
            f"two OpInfo describe {', '.join(twice)}. Give all samples of an operator in one."
        )
