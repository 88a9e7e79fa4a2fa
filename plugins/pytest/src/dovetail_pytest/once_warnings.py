"""Warnings that come once per process: tests are spared them, so that the outcome of a test does
not depend on which ran before.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Literal

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Let a test begin as if all these warnings had been issued."""
    _reset("never")


@pytest.fixture
def once_warnings() -> Iterator[None]:
    """Let the test have these warnings: each once, or always under ``set_warn_always(True)``."""
    _reset("once")
    yield
    _reset("never")


def _reset(policy: Literal["once", "never"]) -> None:
    if (kernel := sys.modules.get("dovetail_kernel")) is not None:
        kernel.reset_once_warnings(policy)
