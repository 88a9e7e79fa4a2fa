"""``torch.distributed.optim``, for programs that ask whether an optimizer is one of these."""

from __future__ import annotations

import typing as _typing

from ..names.missing import serve_names as _serve_names
from . import _refusal

__all__ = ["ZeroRedundancyOptimizer"]


class ZeroRedundancyOptimizer:
    """An optimizer whose state is divided among processes; none can be made.

    Raises
    ------
    RuntimeError
        When it is called; says what to install.
    """

    def __init__(self, *arguments: _typing.Any, **options: _typing.Any) -> None:
        raise _refusal("optim.ZeroRedundancyOptimizer")


_serve_names(__name__)
