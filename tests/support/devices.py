"""Helpers for tests that run on any device."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import pytest

import dovetail_aten


def cpu_only_where(cases: Iterable[Any], is_one: Callable[[Any], object], reason: str) -> list[Any]:
    """Return cases as parameters of a test, of which some are about the cpu, and why."""
    mark = pytest.mark.cpu_only(reason=reason)
    return [pytest.param(each, marks=mark) if is_one(each) else each for each in cases]


def without_device(text: str) -> str:
    """Return printed tensors and names of types as they would be on the cpu: without the default
    device.
    """
    device = dovetail_aten.zeros(0).device
    return re.sub(rf",\s+device='{device}'", "", text).replace(f".{device.type}.", ".")


def own_key() -> str:
    """Return the name of the dispatch key of the default device."""
    return dovetail_aten.zeros(0)._backend.key_name
