"""Results of elementwise operators whose operands lie in different orders in memory, or are
expanded, lie in the order that the meta device gives them, with compiled code and without.
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


def _found(native: str) -> list[dict[str, list[object]]]:
    done = subprocess.run(
        [sys.executable, str(PROGRAM)],
        stdout=subprocess.PIPE,
        check=True,
        env={**os.environ, "DOVETAIL_NATIVE": native},
    )
    found: list[dict[str, list[object]]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("native", ["1", "0"])
def test_results_lie_in_the_order_of_the_shape_rule(native: str) -> None:
    made, ruled = _found(native)
    made = {name: order for name, order in made.items() if order}  # `equal` returns no tensor
    assert len(made) > 80
    wrong = {name: (order, ruled[name]) for name, order in made.items() if order != ruled[name]}
    assert wrong == {}
