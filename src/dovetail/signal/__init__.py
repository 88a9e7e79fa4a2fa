"""Signals, as ``torch.signal``."""

import typing as _typing

from ..names.missing import names_of as _names_of
from . import windows

__all__ = ["windows"]


if not _typing.TYPE_CHECKING:  # a type checker would take any name for one of these
    __getattr__ = _names_of(__name__)
