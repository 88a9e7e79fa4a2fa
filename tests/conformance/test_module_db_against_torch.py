"""PyTorch's table of modules, `module_db`: results, gradients, text, state and errors are the same.

Some of its entries are drawn each time, with a printed seed, and some samples of each:
`DOVETAIL_CALLS=2000` takes all of them, `DOVETAIL_FIRST_CALL=7` draws with another seed, and
`tools/parity.py --table module_db` prints the whole table. What does not pass, and why, is in
`module_db_exceptions.yaml`.
"""

from __future__ import annotations

import pytest

pytest.importorskip("expecttest", reason="PyTorch's table of modules needs it")

from checked_tables import CALLS, check_list, drawn, pairs, unexpected
from module_db_checks import CHECKS, entries, run
from module_db_exceptions import exceptions

SAMPLES = 8
ALL = 240
"""Samples of an entry, drawn or all."""


def test_modules_of_the_table_pass_the_checks_that_are_not_excepted() -> None:
    every = pairs(entries(), CHECKS)
    is_whole = len(every) <= CALLS
    samples = ALL if is_whole else SAMPLES
    wrong = unexpected(
        drawn(every), lambda name, check: run(name, check, samples), exceptions(), is_whole=is_whole
    )
    assert not wrong, "\n".join(wrong)


def test_what_is_excepted_of_modules_is_in_the_table_and_has_a_reason() -> None:
    check_list(exceptions(), pairs(entries(), CHECKS))
