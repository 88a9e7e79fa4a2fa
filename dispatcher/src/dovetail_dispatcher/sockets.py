"""Sockets of the dispatcher: functions that a distribution above it supplies.

=================== =================== ========================================================
socket              filled by           when
=================== =================== ========================================================
`compiled_kernel`   dovetail-native     when `load_compiled_code` loads it, before the first plan
=================== =================== ========================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Generic, Protocol, TypeVar

Filling = TypeVar("Filling")


class Socket(Generic[Filling]):
    """A place for a function from above.

    Attributes
    ----------
    filling
        The function; until `fill` is called, one that does without the distribution above.
    is_filled
        Whether `fill` was called.
    """

    __slots__ = ("filling", "is_filled")

    def __init__(self, empty: Filling) -> None:
        self.filling = empty
        self.is_filled = False

    def fill(self, filling: Filling) -> None:
        """Supply the function."""
        self.filling = filling
        self.is_filled = True


class CompiledKernel(Protocol):
    """Returns a compiled callable with the arguments and results of an array kernel, or the kernel
    itself if there is none.
    """

    def __call__(self, function: Callable[..., Any], /) -> Callable[..., Any]: ...


def _itself(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


compiled_kernel: Final[Socket[CompiledKernel]] = Socket(_itself)
"""Called once per kernel of a plan that becomes a route, and once per kernel of a derivative body
over arrays.
"""
