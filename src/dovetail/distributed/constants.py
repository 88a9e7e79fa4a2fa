"""How long processes wait for each other."""

import typing as _typing
from datetime import timedelta

from ..names.missing import names_of as _names_of

__all__ = ["default_pg_timeout"]

default_pg_timeout: _typing.Final = timedelta(minutes=30)
"""PyTorch's default for a group of processes."""


if not _typing.TYPE_CHECKING:  # a type checker would take any name for one of these
    __getattr__ = _names_of(__name__)
