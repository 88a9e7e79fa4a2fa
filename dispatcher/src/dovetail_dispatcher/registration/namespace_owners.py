"""Gives each namespace to the one library of kind DEF that owns it."""

from __future__ import annotations

from typing import Final

from ..table import registry
from ..table.registrars import Registrar
from ..table.updates.changes import Change, make
from ..table.updates.definitions import DefinitionTable, table_of_namespace

_owners: Final[dict[str, tuple[Registrar, str]]] = {}
"""The DEF library of each namespace, as the code that made it and where that is."""


class _Ownership(Change):
    """A namespace in the hands of a library."""

    __slots__ = ("_made_at", "_ns", "_registrar")

    def __init__(self, ns: str, registrar: Registrar, made_at: str) -> None:
        self._ns = ns
        self._registrar = registrar
        self._made_at = made_at

    def apply(self) -> None:
        """Give the namespace to the library."""
        _owners[self._ns] = (self._registrar, self._made_at)

    def take_out(self) -> None:
        """Give the namespace up."""
        if self._ns in _owners and _owners[self._ns][0] is self._registrar:
            del _owners[self._ns]


def is_owned(ns: str) -> bool:
    """Return whether a DEF library, or a generated table, has the namespace `ns`."""
    return ns in _owners or ns in table_of_namespace


def own_namespace(ns: str, made_at: str, registrar: Registrar, owner: list[Change]) -> None:
    """Give the namespace `ns` to a DEF library, made at `made_at` by `registrar`. Raises
    RuntimeError if one of other code has it, or a generated table defines its operators.
    """
    with registry.lock:
        earlier: DefinitionTable | str | None = table_of_namespace.get(ns)
        if ns in _owners and not registrar.replaces(_owners[ns][0]):
            earlier = _owners[ns][1]
        if earlier is not None:
            raise RuntimeError(
                f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}; please "
                "put all of your definitions in a single TORCH_LIBRARY block. If you were trying "
                'to specify implementations, consider using kind "IMPL", or "FRAGMENT" for more '
                "definitions. Previous registration of TORCH_LIBRARY was registered at "
                f"{earlier}; latest registration was registered at {made_at}"
            )
        make(_Ownership(ns, registrar, made_at), owner)
