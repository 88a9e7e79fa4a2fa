"""Entries of PyTorch's tables against a list: what fails is on it, what passes is not."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

CALLS = int(os.environ.get("DOVETAIL_CALLS", "40"))
SEED = int(os.environ.get("DOVETAIL_FIRST_CALL") or time.time_ns() // 10**9 % 100_000)

Pair = tuple[str, str]
"""An entry, and a check of it."""


def pairs(entries: Iterable[str], checks: Iterable[str]) -> list[Pair]:
    """Return every entry with every check."""
    return [(name, check) for name in sorted(entries) for check in checks]


def drawn(every: Collection[Pair]) -> list[Pair]:
    """Return some of the pairs, by a seed that is printed."""
    print(f"DOVETAIL_FIRST_CALL={SEED}")
    return random.Random(SEED).sample(list(every), min(CALLS, len(every)))


def unexpected(
    chosen: Iterable[Pair],
    run: Callable[[str, str], Any],
    listed: Collection[Pair],
    *,
    is_whole: bool,
) -> list[str]:
    """Return what fails and is not listed, and, where all samples were run (`is_whole`), what is
    listed and passes.
    """
    wrong = []
    for name, check in chosen:
        outcome = run(name, check)
        if outcome is None:  # the entry has nothing to check
            continue
        found = f"{name} {check}: {outcome.passed} of {outcome.count} samples pass"
        if is_whole and outcome.is_passed and (name, check) in listed:
            wrong.append(f"{found}; take it off the list of exceptions")
        elif not outcome.is_passed and (name, check) not in listed:
            wrong.append(f"{found}; {outcome.reason}")
    return wrong


def check_list(listed: Mapping[Pair, str], every: Collection[Pair]) -> None:
    """Check that what is listed is in the table and has a reason."""
    assert listed.keys() <= set(every)
    assert all(isinstance(reason, str) and reason.strip() for reason in listed.values())
