"""`record_function`: names a part of a program in profiles and traces."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from dovetail_dispatcher import Annotation

P = ParamSpec("P")
T = TypeVar("T")


class record_function(Annotation):
    """Context manager and decorator that gives a block, or the calls of a function, an own entry in
    profiles and traces.

    Parameters
    ----------
    name
        Name of the entry.
    args
        Additional text for Chrome traces. Default: none.

    Examples
    --------
    ::

        with record_function("loading"):
            batch = next(batches)
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        super().__init__(name)
        self.args = args

    def __call__(self, function: Callable[P, T]) -> Callable[P, T]:
        """Return `function`, every call of which is such a block."""

        @wraps(function)
        def annotated(*args: P.args, **kwargs: P.kwargs) -> T:
            with type(self)(self.name, self.args):
                return function(*args, **kwargs)

        return annotated
