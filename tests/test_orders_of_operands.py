"""Results of elementwise operators whose operands lie in different orders in memory, or are
expanded, lie in the same order with compiled code and without.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "support" / "operand_orders.py"

pytestmark = [
    pytest.mark.cpu_only(reason="compares the kernels of the cpu"),
    pytest.mark.skipif(
        importlib.util.find_spec("dovetail_native._core") is None,
        reason="needs compiled code to compare with",
    ),
]


def _found(native: str) -> dict[str, list[object]]:
    done = subprocess.run(
        [sys.executable, str(PROGRAM)],
        stdout=subprocess.PIPE,
        check=True,
        env={**os.environ, "DOVETAIL_NATIVE": native},
    )
    found: dict[str, list[object]] = json.loads(done.stdout)
    return found


def test_results_lie_in_the_same_order_with_compiled_code_and_without() -> None:
    compiled, plain = _found("1"), _found("0")
    assert len(compiled) > 80
    assert {
        name: (order, plain[name]) for name, order in compiled.items() if order != plain[name]
    } == {}
