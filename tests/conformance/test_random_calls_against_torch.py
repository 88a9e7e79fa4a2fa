"""Random calls of every operator, in every dtype, with hard values: both libraries give the same.

`DOVETAIL_CALLS=53200` makes more of them, `DOVETAIL_FIRST_CALL=1000` begins at another seed. What
may differ, and why, is in `call_allowances`; the table of what did is printed with ``-rP``.
"""

from __future__ import annotations

import os
import random
from collections import Counter

import pytest
import torch
from call_allowances import ALLOWANCES, Allowance, allowed
from call_outcomes import Disagreement, disagreement, outcome
from devices import cpu_only_where
from random_calls import Call, called, random_call

import dovetail

CALLS = int(os.environ.get("DOVETAIL_CALLS", "1200"))
FIRST = int(os.environ.get("DOVETAIL_FIRST_CALL", "0"))
CHUNK = 400
CRASHES = (
    *["_ctc_loss_backward", "_scaled_dot_product_flash_attention_for_cpu", "_chunk_cat"],
    *["embedding_bag", "segment_reduce"],
    *["special_legendre_polynomial_p", "special_laguerre_polynomial_l"],
)
"""At sizes that do not fit, and degrees without end, which are refused here, they end the process
in PyTorch, or last for ever.
"""
KINDS = (
    *["PyTorch refuses a dtype", "PyTorch raises", "raises", "exception type", "dtype", "shape"],
    *["strides", "memory", "requires_grad", "None", "argument", "value", "NaN or infinity"],
    *["sign of zero", "warning of NumPy"],
)


def call_of(seed: int) -> Call:
    """Return the call of a seed. Each operator has its own row of calls: another operator beside it
    does not change them.
    """
    turn, place = divmod(seed, len(called()))
    info = called()[place]
    return random_call(info, random.Random(f"{info.name} {turn}"))


def compared(call: Call) -> Disagreement | None:
    """Return how a call disagrees, or None, also if only one library has that form of it."""
    ours = outcome(dovetail, call)
    if ours is not None and ours.error is not None and call.base in CRASHES:
        return None
    theirs = None if ours is None else outcome(torch, call)
    return None if ours is None or theirs is None else disagreement(ours, theirs, call)


def table(found: Counter[str], others: Counter[str], calls: int) -> str:
    """Return how many calls disagree, by class: beyond what is allowed, and within."""
    rows = [
        f"{found[kind]:6} {others[kind]:6}  {kind}"
        for kind in sorted(found | others)
        if found[kind] or others[kind]
    ]
    return "\n".join([f"{calls} calls", " wrong allowed", *rows])


@pytest.mark.parametrize("first", range(FIRST, FIRST + CALLS, CHUNK))
def test_random_calls_give_what_pytorch_gives(first: int) -> None:
    wrong: list[str] = []
    device = dovetail.get_default_device().type
    found: Counter[str] = Counter()
    others: Counter[str] = Counter()
    for seed in range(first, min(first + CHUNK, FIRST + CALLS)):
        call = call_of(seed)
        differs = compared(call)
        if differs is None or f"is not supported on {device}: " in differs.text:
            continue  # or of a dtype that arrays of the device have not
        if allowed(call, differs) is not None:
            others[differs.kind] += 1
        else:
            found[differs.kind] += 1
            wrong.append(f"call {seed}: {call}\n  {differs.kind}: {differs.text}")
    print(table(found, others, CHUNK))
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "row",
    cpu_only_where(ALLOWANCES, lambda row: "pin_memory" in row.reason, "pinned memory of the cpu"),
    ids=lambda row: row.reason[:50].replace(" ", "-"),
)
def test_what_is_allowed_to_differ_still_differs(row: Allowance) -> None:
    differs = compared(row.example)
    assert differs is not None, f"{row.example} agrees: take the row away"
    assert differs.kind in row.kinds and row.holds(row.example, differs), differs


def test_the_classes_of_disagreement_are_those_that_are_found() -> None:
    named = {kind.removeprefix("gradient: ") for row in ALLOWANCES for kind in row.kinds}
    assert named <= set(KINDS)
