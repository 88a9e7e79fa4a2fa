"""`Guard`: a block in which context variables of the task have other values."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ContextDecorator
from contextvars import ContextVar
from functools import wraps
from typing import Any, ClassVar, Final, ParamSpec, TypeVar, cast

from .state import Saved, _state

P = ParamSpec("P")
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

STATE: Final = _state
"""The context variable that holds the dispatch state, for `Guard.variables`."""


class Guard:
    """Context manager that always restores the former state.

    A subclass names context variables and sets them in `change`. It is reentrant.

    Notes
    -----
    A KeyboardInterrupt comes after some call of a C function, or at the start of one in Python. So
    entering undoes what it was interrupted in; leaving takes what it has to restore off its stack
    without a call, and restores it again from the beginning if that was interrupted.

    One instant is left that no class written in Python can do without: between the block and the
    first instruction of `__exit__`. What the library itself runs in another state has not even
    that: it sets the state in a ``try`` whose ``finally`` sets what was saved before.
    """

    variables: ClassVar[tuple[ContextVar[Any], ...]] = (STATE,)
    """The context variables that `change` sets."""

    _saved: Saved = None
    _not_entered: ClassVar[Saved] = None
    """What `__exit__` without `__enter__` takes for `_saved`; None is an error."""

    def save(self) -> Any:
        """Return the state for `restore`."""
        return [(each.set, each.get()) for each in self.variables]

    def change(self) -> Any:
        """Set the variables; return what the ``with`` statement binds."""
        raise NotImplementedError

    def restore(self, saved: Any) -> None:
        """Restore the state from `save`. It may be called again after an interruption."""
        for put, value in saved:
            put(value)

    def __enter__(self) -> Any:
        saved = self.save()
        self._saved = saved, self._saved
        try:
            return self.change()
        except BaseException:
            self.__exit__(None, None, None)
            raise

    def __exit__(self, *error: object) -> None:
        saved, self._saved = self._saved or self._not_entered  # type: ignore[misc]
        try:
            self.restore(saved)
        except BaseException:
            self.restore(saved)
            raise

    def around(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return ``function(*args, **kwargs)``, called within this guard. The guard also restores
        the state if an interrupt occurs between the block and `__exit__`.
        """
        level = self._saved
        try:
            with self:
                return function(*args, **kwargs)
        except BaseException:
            if self._saved is not level:
                self.__exit__(None, None, None)
            raise


class DecoratingGuard(Guard, ContextDecorator):
    """A guard that also decorates functions: it is entered around each call."""

    def __call__(self, function: F) -> F:
        """Return `function`, called within this guard."""

        @wraps(function)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            return self._recreate_cm().around(function, *args, **kwargs)

        return cast(F, guarded)


def restoring(*variables: ContextVar[Any]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator of functions that enter guards: it puts variables back where an exception
    leaves such a function, be it an interrupt just before a guard is left. Default: the dispatch
    state.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        chosen = variables or (STATE,)

        @wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> T:
            found = [(each.set, each.get()) for each in chosen]
            try:
                return function(*args, **kwargs)
            except BaseException:
                for put, value in found:
                    put(value)
                raise

        return called

    return decorate


class SettingGuard(Guard):
    """A setting that is made at once, at construction; as a context manager it puts back what it
    found then, however often.
    """

    def __init__(self) -> None:
        super().__enter__()

    def __enter__(self) -> Any:
        """Do nothing: the setting was made at construction."""

    def __exit__(self, *error: object) -> None:
        saved = self._saved[0]  # type: ignore[index]
        try:
            self.restore(saved)
        except BaseException:
            self.restore(saved)
            raise
