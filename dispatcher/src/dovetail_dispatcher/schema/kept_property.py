"""`kept`: a property that is computed once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Self, TypeVar, overload

T = TypeVar("T")


class kept(Generic[T]):
    """Decorate a method of one that becomes an attribute when it is first asked for.

    `functools.cached_property` does the same under a lock that all instances share up to Python
    3.11, and that stays held in the child of a fork. What is computed here depends on the instance
    alone, so two threads may both do it.
    """

    def __init__(self, function: Callable[..., T]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object, owner: type) -> Self | T:
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._function(instance)
        return value
