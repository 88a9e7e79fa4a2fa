"""Calls of array kernels by operator, in a module for each subject: `CALLS`, and `KEYWORDS`."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

CALLS: dict[str, tuple[Any, ...]] = {}
KEYWORDS: dict[str, dict[str, Any]] = {}

for _found in iter_modules(__path__, f"{__name__}."):
    _module = import_module(_found.name)
    CALLS |= getattr(_module, "CALLS", {})
    KEYWORDS |= getattr(_module, "KEYWORDS", {})
