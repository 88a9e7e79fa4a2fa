"""``torch.distributed.nn``, which programs import before they ask whether there are processes that
work together: every name of it says that there are none.
"""

from __future__ import annotations

import typing as _typing

from ...names.missing import names_of as _names_of
from .. import _REMEDY

__all__: list[str] = []

if not _typing.TYPE_CHECKING:  # a type checker would take any name for one of these
    __getattr__ = _names_of(__name__, remedy=_REMEDY)
