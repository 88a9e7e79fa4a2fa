"""The stack of default devices of a task: what `set_default_device` chose, above it each ``with
Device(...)``.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .device import Device

_stack: ContextVar[tuple[Device | None, ...]] = ContextVar(
    "dovetail_default_device", default=(None,)
)


def innermost() -> Device | None:
    """Return the default device in force, None where none was chosen."""
    return _stack.get()[-1]


def push(device: Device) -> None:
    """Enter a block whose default is `device`."""
    _stack.set((*_stack.get(), device))


def pop() -> None:
    """Leave the innermost block."""
    _stack.set(_stack.get()[:-1])


def replace_outermost(device: Device | None) -> None:
    """Choose the default outside all blocks."""
    _stack.set((device, *_stack.get()[1:]))
