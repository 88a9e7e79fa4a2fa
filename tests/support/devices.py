"""Helpers for tests that run on any device."""

from __future__ import annotations

import re

import dovetail_aten


def without_device(text: str) -> str:
    """Return printed tensors and names of types as they would be on the cpu: without the default
    device.
    """
    device = dovetail_aten.zeros(0).device
    return re.sub(rf",\s+device='{device}'", "", text).replace(f".{device.type}.", ".")


def own_key() -> str:
    """Return the name of the dispatch key of the default device."""
    return dovetail_aten.zeros(0)._backend.key_name
