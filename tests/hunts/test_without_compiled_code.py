"""Random trials with compiled code and without: values, errors, warnings, strides, versions, graphs
and what a dispatch mode sees agree.

`PYTHONPATH=tests/support python -m oracle.interpreters NAME FIRST COUNT` runs more of them.
"""

from __future__ import annotations

import copy
import importlib.util
from collections.abc import Callable
from typing import Any

import pytest
from oracle.interpreters import COMPARISON, NAMES, Raised, differences, elsewhere
from oracle.outcomes import Outcome
from oracle.sharing import seeds

pytestmark = [
    pytest.mark.cpu_only(reason="leaves are arrays of NumPy, in double precision"),
    pytest.mark.skipif(
        importlib.util.find_spec("dovetail_native._core") is None,
        reason="needs compiled code to compare with",
    ),
]


@pytest.mark.parametrize("name", NAMES)
def test_compiled_code_changes_nothing_that_can_be_seen(name: str) -> None:
    found = differences(name, seeds(f"{name} without compiled code", 15))
    assert not found, "\n".join([f"{seed}: {text}" for seed, text in found.items()])


def _value(found: Outcome) -> None:
    found.result["values"][0].values.ravel()[:] += 1e-3


def _strides(found: Outcome) -> None:
    found.result["values"][0].facts["strides"] = (7,)


def _log(found: Outcome) -> None:
    found.result["log"].append("aten.add.Tensor")


def _warning(found: Outcome) -> None:
    found.warned = [*found.warned, ("UserWarning", "text", "file.py", 1)]  # type: ignore[list-item]


def _error(found: Outcome) -> None:
    found.error = Raised("RuntimeError", "text")


@pytest.mark.parametrize("change", [_value, _strides, _log, _warning, _error])
def test_a_change_is_seen(change: Callable[[Any], None]) -> None:
    outcomes = elsewhere("batched", range(40))
    given = [each for each in outcomes if each is not None and each.error is None]
    assert len(given) > 20
    assert any([each.result["log"] for each in given])
    changed = copy.deepcopy(given[0])
    change(changed)
    assert COMPARISON.of(given[0], given[0])[0] == "same"
    assert COMPARISON.of(changed, given[0])[0] not in ("same", "both raise")
