"""Record, the base of classes of immutable data: like `dataclasses.dataclass(frozen=True)`, with a
hundredth of its import time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Final, NoReturn, Self, dataclass_transform

_REQUIRED: Final = object()


@dataclass_transform(frozen_default=True)
class Record:
    """Immutable data. A subclass declares its fields like a dataclass; defaults are attributes of
    the class.

    Notes
    -----
    Type checkers see an ``__init__`` with the fields of the class. Arguments are not checked at run
    time.
    """

    _fields: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        own = cls.__dict__.get("__annotations__", {})  # noqa: RUF063 (inspect takes long to import)
        cls._fields += tuple([name for name in own if not own[name].startswith("ClassVar")])

    def __init__(self, *values: Any, **named: Any) -> None:
        named.update(zip(self._fields, values))  # noqa: B905 (the keyword costs as much as the rest)
        self.__dict__.update(named)

    def replaced(self, **changes: Any) -> Self:
        """Return this record with other values in some fields."""
        new = self.__class__.__new__(self.__class__)
        new.__dict__.update(self.__dict__, **changes)
        return new

    def __eq__(self, other: object) -> bool:
        return other.__class__ is self.__class__ and self._values() == other._values()

    def _values(self) -> tuple[Any, ...]:
        return tuple([getattr(self, name) for name in self._fields])

    __hash__ = None  # type: ignore[assignment]

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(
            f"{self.__class__.__name__}.{name} cannot be set: a record never changes. Make another "
            f"with replaced({name}=...)."
        )

    def __repr__(self) -> str:
        own, defaults = self.__dict__, self.__class__
        given = [
            f"{name}={shown(own[name])}"
            for name in self._fields
            if name in own and own[name] is not getattr(defaults, name, _REQUIRED)
        ]
        return f"{self.__class__.__name__}({', '.join(given)})"


def shown(value: object) -> str:
    """Return the text of a field: the same in every process, so that texts of records can be
    compared. Functions and classes are shown by name; mappings, and objects whose `repr` contains
    an address, by class.
    """
    if isinstance(value, (tuple, list)) and type(value).__repr__ in _PLAIN_TEXTS:
        items = ", ".join(map(shown, value))
        if isinstance(value, list):
            return f"[{items}]"
        return f"({items},)" if len(value) == 1 else f"({items})"
    if isinstance(value, partial):
        return f"{shown(value.func)}(..., {', '.join(map(shown, value.args))})"
    if isinstance(value, Mapping):
        return f"<{type(value).__name__}>"
    if callable(value) and isinstance(name := getattr(value, "__name__", None), str):
        return name
    text = repr(value)
    return f"<{type(value).__name__}>" if _ADDRESS.search(text) else text


_PLAIN_TEXTS: Final = (tuple.__repr__, list.__repr__)
_ADDRESS: Final = re.compile(r"\b0x[0-9a-f]{6,}")
