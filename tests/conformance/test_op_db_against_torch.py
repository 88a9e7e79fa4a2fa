"""PyTorch's table of operators, `op_db`: samples, gradients and error inputs give the same here.

Some of its entries are drawn each time, with a printed seed: `DOVETAIL_CALLS=2000` takes all of
them, `DOVETAIL_FIRST_CALL=7` draws with another seed, and `make parity` prints the whole table.
What does not pass, and why, is in `op_db_exceptions.yaml`.
"""

from __future__ import annotations

import pytest

pytest.importorskip("expecttest", reason="PyTorch's table of operators needs it")

from checked_tables import check_list, drawn, pairs, unexpected
from op_db_checks import CHECKS, entries, run
from op_db_exceptions import exceptions


@pytest.mark.cpu_only(reason="the list of exceptions is the CPU's")
def test_entries_of_the_table_pass_the_checks_that_are_not_excepted() -> None:
    wrong = unexpected(drawn(pairs(entries(), CHECKS)), run, exceptions(), is_whole=True)
    assert not wrong, "\n".join(wrong)


def test_what_is_excepted_is_in_the_table_and_has_a_reason() -> None:
    check_list(exceptions(), pairs(entries(), CHECKS))
