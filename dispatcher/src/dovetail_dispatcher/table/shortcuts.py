"""Shortcuts: what most calls of a kernel on tensors come down to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from ..record import Record

Function = TypeVar("Function", bound=Callable[..., Any])


class Constant(Record):
    """An argument of a shortcut that is always the same."""

    value: Any


class Shortcut(Record):
    """The case in which a kernel that takes tensors makes one call of an operator with its first
    argument, or returns that argument. Routes then skip the kernel.

    Attributes
    ----------
    operator
        Qualified name of the operator; "": the operator of the kernel itself, at the backend of the
        first argument. None: the first argument is returned.
    given
        The arguments of that call, by the names of the kernel's own; unused for "" and None.
    defaults
        The arguments that have their defaults in this case.
    is_contiguous
        Whether the elements of the first argument are in C order in this case.
    other_ndim
        The number of dimensions that the first argument does not have; -1: it may have any.
    ndims
        The numbers of dimensions that tensors have in this case, by their names.
    """

    operator: str | None
    given: tuple[str | Constant, ...] = ()
    defaults: tuple[str, ...] = ()
    is_contiguous: bool = False
    other_ndim: int = -1
    ndims: tuple[tuple[str, int], ...] = ()

    attribute: ClassVar[str] = "__dovetail_shortcut__"
    """The attribute of a function that has some."""

    def __call__(self, function: Function) -> Function:
        """Return `function`, a kernel for which the shortcut stands, before those that it has."""
        setattr(function, self.attribute, (self, *shortcuts_of(function)))
        return function


def shortcuts_of(function: Callable[..., Any]) -> tuple[Shortcut, ...]:
    """Return the shortcuts of a kernel, the first of which is tried first."""
    found: tuple[Shortcut, ...] = getattr(function, Shortcut.attribute, ())
    return found
