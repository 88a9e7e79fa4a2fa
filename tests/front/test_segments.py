"""Segments are within the tensor that they divide."""

from __future__ import annotations

import pytest

import dovetail

DATA = dovetail.tensor([3.0, 1.0, 2.0, 1.0])


@pytest.mark.parametrize("offsets", [[0, 5], [3, 1], [-1, 2]])
def test_offsets_that_leave_the_tensor_or_descend_are_refused(offsets: list[int]) -> None:
    with pytest.raises(RuntimeError, match=r"offsets go from 0 to 4 and never descend, but they"):
        dovetail.segment_reduce(DATA, "sum", offsets=dovetail.tensor(offsets))


def test_segments_may_be_empty_or_leave_elements_out() -> None:
    reduced = dovetail.segment_reduce(DATA, "sum", offsets=dovetail.tensor([0, 0, 2]))
    assert reduced.tolist() == [0.0, 4.0]
