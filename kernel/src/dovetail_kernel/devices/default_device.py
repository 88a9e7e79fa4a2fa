"""The stack of default devices of a task: what `set_default_device` chose, above it each ``with
Device(...)``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .device import Device

STACK: Final[ContextVar[tuple[Device | None, ...]]] = ContextVar(
    "dovetail_default_device", default=(None,)
)

chosen_devices: Final[Callable[[], tuple[Device | None, ...]]] = STACK.get
"""Return the default devices in force, the innermost last; None where none was chosen."""


def innermost() -> Device | None:
    """Return the default device in force, None where none was chosen."""
    return STACK.get()[-1]


def enter(device: Device) -> Device:
    """Enter a block whose default is `device`: ``Device.__enter__``."""
    before = STACK.get()
    try:
        STACK.set((*before, device))
    except BaseException:  # an interrupt: the block is not entered
        STACK.set(before)
        raise
    return device


def leave(device: Device, *exception: object) -> None:
    """Leave the innermost block: ``Device.__exit__``. A device is no object of its own, so that
    what was before is found in the stack.
    """
    before = None
    try:
        before = STACK.get()
        STACK.set(before[:-1])
    except BaseException:
        STACK.set((before or STACK.get())[:-1])
        raise


def replace_outermost(device: Device | None) -> None:
    """Choose the default outside all blocks."""
    STACK.set((device, *STACK.get()[1:]))
