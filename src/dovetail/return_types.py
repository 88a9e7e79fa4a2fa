"""Results with names, as ``torch.return_types``: ``dovetail.max(x, 1)`` is a
`dovetail.return_types.max`.
"""

from typing import Any as _Any

from dovetail_aten.front_end import return_types as _types


def __getattr__(name: str) -> _Any:
    return getattr(_types, name)


def __dir__() -> list[str]:
    return _types.names()
