"""Which samples of each operator compiled code takes as a whole, by overloads and by functions: a
call that falls back to the text in Python returns the same, but later.

``python plugins/native/tests/test_taken_calls.py`` writes `taken_calls.txt` anew.
"""

from __future__ import annotations

import operator
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

pytest.importorskip("dovetail_testing", reason="the samples are not installed")

import dovetail
from dovetail.testing import op_infos
from dovetail_dispatcher import compiled_code

KNOWN = Path(__file__).with_name("taken_calls.txt")
MOST = 8
"""How many samples of an operator are tried."""


def functions_entered(call: Callable[[], Any]) -> int:
    """Return how many functions in Python a call enters."""
    entered = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal entered
        entered += event == "call"

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return entered


def count_taken(function: Callable[..., Any], samples: list[Any]) -> str:
    """Return how many of the samples that a function takes compiled code takes as a whole."""
    taken = tried = 0
    for sample in samples:
        call = partial(function, *sample.arguments, **sample.kwargs)
        try:
            call()  # composes the route
            call()
            entered = functions_entered(call)
        except Exception:  # the function has other parameters
            continue
        tried += 1
        taken += entered == 0
    return f"{taken}/{tried}"


def all_taken() -> dict[str, str]:
    """Return by the name of each operator the counts of its overload and its function."""
    found = {}
    for info in op_infos("aten"):
        if dovetail.float32 not in info.dtypes:
            continue
        samples = info.sample_inputs(dovetail.device("cpu"), dovetail.float32)[:MOST]
        counts = [count_taken(info.op, samples)]
        function = getattr(dovetail, info.operator.base_name, None)
        if function is not None:
            counts.append(count_taken(function, samples))
        if any(not each.startswith("0/") for each in counts):
            found[info.operator.qualified_name.removeprefix("aten::")] = " ".join(counts)
    return found


@pytest.fixture
def known() -> dict[str, str]:
    lines = KNOWN.read_text(encoding="utf-8").splitlines()
    return dict([line.split(" ", 1) for line in lines])


def test_samples_that_compiled_code_takes_are_taken(known: dict[str, str]) -> None:
    dovetail.ones(1, device="cpu")
    if not compiled_code.is_in_force():
        pytest.skip("compiled code is switched off")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = all_taken()
    fewer = {
        name: (counts, found.get(name, "none"))
        for name, counts in known.items()
        if any(map(operator.lt, taken_of(found.get(name, "")), taken_of(counts)))
        or len(found.get(name, "").split()) < len(counts.split())
    }
    assert not fewer, "before and now; if this is meant, run this file to write them anew"


def taken_of(counts: str) -> list[int]:
    """Return how many are taken, by overload and by function."""
    return [int(each.partition("/")[0]) for each in counts.split()]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    rows = [f"{name} {counts}\n" for name, counts in sorted(all_taken().items())]
    KNOWN.write_text("".join(rows), encoding="utf-8")
