"""PyTorch's table of modules, `module_db`: results, gradients, text, state and errors are the same.

Some of its entries are drawn each time, with a printed seed, and some samples of each:
`DOVETAIL_CALLS=2000` takes all of them, `DOVETAIL_FIRST_CALL=7` draws with another seed, and
`tools/parity.py --table module_db` prints the whole table. What does not pass, and why, is in
`module_db_exceptions.yaml`.
"""

from __future__ import annotations

import os
import random
import time

import pytest

pytest.importorskip("expecttest", reason="PyTorch's table of modules needs it")

from module_db_checks import CHECKS, entries, run
from module_db_exceptions import exceptions

CALLS = int(os.environ.get("DOVETAIL_CALLS", "40"))
SEED = int(os.environ.get("DOVETAIL_FIRST_CALL") or time.time_ns() // 10**9 % 100_000)
SAMPLES = 8
ALL = 240
"""Samples of an entry, drawn or all."""


def pairs() -> list[tuple[str, str]]:
    """Return every entry with every check."""
    return [(name, check) for name in sorted(entries()) for check in CHECKS]


def test_modules_of_the_table_pass_the_checks_that_are_not_excepted() -> None:
    every = pairs()
    print(f"DOVETAIL_FIRST_CALL={SEED}")
    listed = exceptions()
    is_whole = len(every) <= CALLS
    wrong = []
    for name, check in random.Random(SEED).sample(every, min(CALLS, len(every))):
        outcome = run(name, check, ALL if is_whole else SAMPLES)
        if outcome is None:  # the entry has nothing to check
            continue
        found = f"{name} {check}: {outcome.passed} of {outcome.count} samples pass"
        if is_whole and outcome.is_passed and (name, check) in listed:
            wrong.append(f"{found}; take it off the list of exceptions")
        elif not outcome.is_passed and (name, check) not in listed:
            wrong.append(f"{found}; {outcome.reason}")
    assert not wrong, "\n".join(wrong)


def test_what_is_excepted_of_modules_is_in_the_table_and_has_a_reason() -> None:
    every = set(pairs())
    listed = exceptions()
    assert listed.keys() <= every
    assert all(isinstance(reason, str) and reason.strip() for reason in listed.values())
