"""Custom classes as types of the schema language."""

from __future__ import annotations

from typing import Final, Self

from .types import Type

custom_classes: Final[dict[str, type]] = {}
"""Registered classes by qualified name."""


class ClassType(Type):
    """A registered custom class, written ``__torch__.torch.classes.<namespace>.<name>``."""

    __slots__ = ("python_class",)
    python_class: type

    def __new__(cls, qualified_name: str) -> Self:
        known: Self | None = Type._interned.get((cls, qualified_name))
        if known is not None:
            return known
        python_class = custom_classes[qualified_name]
        spelling = f"__torch__.torch.classes.{qualified_name}"
        made = cls._make((qualified_name,), spelling, spelling, None)
        made.python_class = python_class
        return made


def register_custom_class(qualified_name: str, python_class: type) -> ClassType:
    """Make ``__torch__.torch.classes.<qualified_name>`` a type of the schema language.

    Parameters
    ----------
    qualified_name : str
        Namespace and name, such as ``'vision.Decoder'``.
    python_class : type
        The class whose instances the type accepts.

    Raises
    ------
    RuntimeError
        If the name is registered for another class.
    """
    known = custom_classes.setdefault(qualified_name, python_class)
    if known is not python_class:
        raise RuntimeError(
            f"Custom class type {qualified_name} is already registered for "
            f"{known.__module__}.{known.__qualname__}. Register the class under another name."
        )
    return ClassType(qualified_name)
