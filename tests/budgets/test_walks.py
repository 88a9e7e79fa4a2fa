"""How many Python calls a call may make, and how often it may change the room."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.cpu_only(reason="walks lead to the kernels of the cpu")

ROOT = Path(__file__).resolve().parents[2]

BUDGETS = {
    "x + y, missed": (141, 66),
    "x + y, missed, recorded": (241, 124),
    "x + y, warm": (2, 0),
    "custom operator, warm": (6, 2),
    "vmap(grad(f)), warm": (255, 131),
    "backward, warm": (22, 14),
}
"""Frames and turns of each walk of ``benchmarks/walks.py``. Lower one when its walk is shorter."""


@pytest.fixture(scope="module")
def counts() -> dict[str, Any]:
    command = [sys.executable, str(ROOT / "benchmarks/walks.py"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize("walk", BUDGETS)
def test_no_walk_is_longer_than_its_budget(walk: str, counts: dict[str, Any]) -> None:
    frames, turns = counts[walk]
    assert frames <= BUDGETS[walk][0]
    assert turns <= BUDGETS[walk][1]


def test_every_walk_has_a_budget(counts: dict[str, Any]) -> None:
    assert list(counts) == list(BUDGETS)
