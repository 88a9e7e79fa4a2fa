"""A mode that notes the functions that are called."""

from __future__ import annotations

from typing import Any

import pytest

dovetail = pytest.importorskip("dovetail", reason="the front end is not installed")

from dovetail.overrides import TorchFunctionMode  # noqa: E402 - after what may be missing


class Recorder(TorchFunctionMode):
    """Notes the functions that are called, and calls them."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(func)
        return func(*args, **(kwargs or {}))
