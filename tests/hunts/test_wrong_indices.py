"""Random calls with indices, pivots, offsets, sizes and strides that no array has: an error or a
value, never a signal, nor memory outside an array.

`python tests/support/index_children.py FIRST COUNT EACH` runs more of them.
"""

from __future__ import annotations

import sys

import pytest
from index_children import hunt
from oracle.sharing import seeds

pytestmark = [
    pytest.mark.cpu_only(reason="guards lie around arrays of NumPy"),
    pytest.mark.skipif(sys.platform == "win32", reason="needs limits of memory and alarms"),
]


def test_no_wrong_index_ends_the_process_or_reaches_outside_an_array() -> None:
    report = hunt(seeds("wrong indices", 150))
    print(report)
    assert not report.finds, "\n".join([f"{seed}: {text}" for seed, text in report.finds])
