"""How long processes wait for each other."""

import typing as _typing
from datetime import timedelta

from ..names.missing import serve_names as _serve_names

__all__ = ["default_pg_timeout"]

default_pg_timeout: _typing.Final = timedelta(minutes=30)
"""PyTorch's default for a group of processes."""


_serve_names(__name__)
