"""Base classes of the small value types: objects that cannot be written to, and named ones that
keep their identity.
"""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn, Self, TypeVar

Named = TypeVar("Named", bound="NamedValue")


class Immutable:
    """A slots object whose attributes are filled in by `make` and read-only from then on."""

    __slots__ = ()

    @classmethod
    def make(cls, **attributes: Any) -> Self:
        """Return a new instance with these attributes, without running `__new__` of the class."""
        self = object.__new__(cls)
        for name, value in attributes.items():
            object.__setattr__(self, name, value)
        return self

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(
            f"attribute '{name}' of '{type(self).__name__}' objects is not writable"
        )

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"attribute '{name}' of '{type(self).__name__}' objects is not writable"
        )


class NamedValue(Immutable):
    """One of a fixed list of objects, each known by its name and equal only to itself.

    Only `define` makes the members. Copying and unpickling look the name up and so keep identity.
    """

    __slots__ = ("name",)

    name: str
    members: ClassVar[dict[str, Any]]
    _package: ClassVar[str] = "dovetail"

    def __init_subclass__(cls) -> None:
        cls.members = {}

    def __new__(cls) -> Self:
        example = next(iter(cls.members.values()))
        raise TypeError(
            f"cannot create '{cls.__name__}' instances; use one that exists, such as {example!r}"
        )

    @classmethod
    def define(cls, name: str, **attributes: Any) -> Self:
        """Return the new member `name` of this class."""
        member = cls.members[name] = cls.make(name=name, **attributes)
        return member

    def __repr__(self) -> str:
        return f"{self._package}.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild_named, (type(self), self.name)


def rebuild_named(cls: type[Named], name: str) -> Named:
    member: Named = cls.members[name]
    return member


_member = rebuild_named  # as pickles of 0.1.0 have it
