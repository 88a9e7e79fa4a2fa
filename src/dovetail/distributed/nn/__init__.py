"""``torch.distributed.nn``, which programs import before they ask whether there are processes that
work together: every name of it says that there are none.
"""

from __future__ import annotations

from ...names.missing import serve_names as _serve_names
from .. import _REMEDY

__all__: list[str] = []

_serve_names(__name__, remedy=_REMEDY)
