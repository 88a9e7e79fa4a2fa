"""PyTorch's own samples of its operators, and what they refuse, give the same here.

`DOVETAIL_CALLS=5000` takes more of them. What may differ is in `call_allowances`.
"""

from __future__ import annotations

import os
import random
from typing import Any

import pytest
import torch
from call_allowances import allowed
from call_outcomes import disagreement, outcome

import dovetail

pytest.importorskip("expecttest", reason="PyTorch's table of samples needs it")

CALLS = int(os.environ.get("DOVETAIL_CALLS", "15"))
SEED = int(os.environ.get("DOVETAIL_FIRST_CALL", "0"))


def test_samples_of_pytorch_give_what_they_give_there() -> None:
    from torch_op_db import calls_of, shared_operators

    r = random.Random(f"samples {SEED}")
    entries: list[Any] = shared_operators()
    chosen = entries if len(entries) <= CALLS else r.sample(entries, CALLS)
    wrong: list[str] = []
    count = 0
    for entry in chosen:
        for call in calls_of(entry, r, max(1, CALLS // len(entries))):
            ours, theirs = outcome(dovetail, call), outcome(torch, call)
            if ours is None or theirs is None:
                continue
            count += 1
            differs = disagreement(ours, theirs, call)
            if differs is not None and allowed(call, differs) is None:
                wrong.append(f"{call}\n  {differs.kind}: {differs.text}")
    print(f"seed {SEED}: {count} calls of {len(chosen)} operators")
    assert count
    assert not wrong, "\n".join(wrong)
