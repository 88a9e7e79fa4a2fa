"""What ``torch.distributed`` says where processes do not work together: it is not available."""

from __future__ import annotations

import typing as _typing

from ..absent_names import names_of as _names_of

__all__ = ["is_available", "is_initialized"]


def is_available() -> bool:
    """Return False: the processes of a program do not know each other."""
    return False


def is_initialized() -> bool:
    """Return False: no group of processes was made."""
    return False


if not _typing.TYPE_CHECKING:  # a type checker would take any name for one of these
    __getattr__ = _names_of(__name__, ("nn",))
