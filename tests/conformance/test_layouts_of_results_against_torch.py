"""Strides of results and gradients on PyTorch's table of operators, `op_db`: of images in
channels_last, and of tensors in other memory orders.

Some of its entries are drawn each time, with a printed seed: `DOVETAIL_CALLS=3000` takes all of
them, `DOVETAIL_FIRST_CALL=7` draws with another seed, and `python tools/parity.py --table layout`
prints the whole table. What does not pass, and why, is in `layout_exceptions.yaml`.
"""

from __future__ import annotations

import pytest

pytest.importorskip("expecttest", reason="PyTorch's table of operators needs it")

from checked_tables import check_list, drawn, pairs, unexpected
from layout_checks import CHECKS, entries, run
from layout_exceptions import exceptions

pytestmark = pytest.mark.cpu_only(reason="other libraries of arrays lay results out otherwise")


def test_results_of_the_table_lie_in_memory_as_those_of_torch() -> None:
    wrong = unexpected(drawn(pairs(entries(), CHECKS)), run, exceptions(), is_whole=True)
    assert not wrong, "\n".join(wrong)


def test_what_is_excepted_is_in_the_table_and_has_a_reason() -> None:
    check_list(exceptions(), pairs(entries(), CHECKS))
