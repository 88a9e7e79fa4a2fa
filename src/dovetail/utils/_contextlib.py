"""Context managers that decorate functions as well, by the path that programs import."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from dovetail_autograd import decorate

from ..names.missing import serve_names as _serve_names

__all__: list[str] = []


class _DecoratorContextManager:
    """Base of context managers that decorate: functions, and the steps of generators and
    coroutines, run in a copy that `clone` makes.
    """

    def __call__(self, orig_func: Callable[..., Any]) -> Callable[..., Any]:
        return decorate(orig_func, self.clone)

    def __enter__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__}.__enter__: write it.")

    def __exit__(self, *error: object) -> Any:
        raise NotImplementedError(f"{type(self).__name__}.__exit__: write it.")

    def clone(self) -> Self:
        """Return another one, which is entered while a function runs. Default: made without
        arguments.
        """
        return type(self)()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """One whose class decorates too, without parentheses."""

    def __new__(cls, orig_func: Callable[..., object] | None = None) -> Any:
        made = super().__new__(cls)
        return made if orig_func is None else made(orig_func)


_serve_names(__name__)
