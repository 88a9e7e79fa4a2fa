"""PyTorch's table of optimizers, `optim_db`: the same parameters after every step, the same state
dicts, which the two libraries exchange on the way, the same schedules and the same refusals.

Some configurations are drawn each time, with a printed seed: `DOVETAIL_CALLS=2000` takes all of
them, `DOVETAIL_FIRST_CALL=7` draws with another seed, and
`python tests/support/optim_db_checks.py` prints the whole table. What does not pass, and why, is in
`optim_db_exceptions.yaml`.
"""

from __future__ import annotations

import os
import random
import time

from optim_db_checks import configurations, error_inputs, exceptions, run_any

CALLS = int(os.environ.get("DOVETAIL_CALLS", "15"))
SEED = int(os.environ.get("DOVETAIL_FIRST_CALL") or time.time_ns() // 10**9 % 100_000)


def wrong(names: list[str]) -> list[str]:
    """Return what is not as the list of exceptions says."""
    listed = exceptions()
    found = []
    for name in names:
        outcome = run_any(name)
        if outcome.is_passed and name in listed:
            found.append(f"{name} passes; take it off the list of exceptions")
        elif not outcome.is_passed and name not in listed:
            found.append(f"{name}: {outcome.reason}")
    return found


def test_configurations_of_the_table_go_the_same_way() -> None:
    every = sorted(configurations())
    print(f"DOVETAIL_FIRST_CALL={SEED}")
    drawn = random.Random(SEED).sample(every, min(CALLS, len(every)))
    found = wrong(drawn)
    assert not found, "\n".join(found)


def test_error_inputs_of_the_table_are_refused_alike() -> None:
    found = wrong(sorted(error_inputs()))
    assert not found, "\n".join(found)


def test_what_is_excepted_is_in_the_table() -> None:
    assert exceptions().keys() <= configurations().keys() | error_inputs().keys()
