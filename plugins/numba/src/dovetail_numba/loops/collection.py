"""`Collection`: loops over numbers of one dtype, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..machine.compiled import Compiled

Function = Callable[..., Any]


class Collection:
    """Loops that are put together with ``@collection(signature)``; see `Compiled`.

    Parameters
    ----------
    real
        The dtype.
    """

    def __init__(self, real: Any) -> None:
        self.real = real
        self.made: dict[str, Compiled] = {}

    def __call__(self, signature: str, *, relaxed: bool = False) -> Callable[[Function], Function]:
        """Add a function, with the signature, and whether it may take sums in any order."""

        def add(function: Function) -> Function:
            name = function.__name__
            self.made[name] = Compiled(function, name, signature, self.real, relaxed=relaxed)
            return function

        return add


__all__ = ["Collection"]
