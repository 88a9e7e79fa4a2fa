"""Ranks that die, hang, or have one batch less: the program ends soon, and says why."""

import re

import pytest
from ranks import CHECKS, mpiexec

pytestmark = pytest.mark.filterwarnings("error")


def fail(how: str) -> str:
    """Return what a failing program prints. One that does not end is killed, and fails the test."""
    ended = mpiexec(2, str(CHECKS / "failing.py"), how)
    assert ended.status != 0, ended.output
    assert "failing now" in ended.output
    return ended.output


def test_a_rank_that_raises_ends_all_and_shows_its_error() -> None:
    output = fail("raises")
    assert "ArithmeticError: rank 1 cannot count" in output


def test_a_rank_that_is_killed_ends_all() -> None:
    fail("is killed")


def test_a_rank_that_exits_is_named_by_those_that_wait() -> None:
    output = fail("exits")
    assert re.search(
        r"rank 0: all_reduce\(float32\[20\], SUM\) waits for rank 1, which ended its program after "
        r"\d+ collectives",
        output,
    ), output


def test_a_rank_that_hangs_is_named_after_the_timeout() -> None:
    output = fail("hangs")
    assert "timed out after 3 s. Not here: rank 1, which computes longer, hangs" in output


@pytest.mark.parametrize(
    ("how", "word"),
    [("has one batch less", "ended its program"), ("leaves", "destroyed the process group")],
)
def test_a_rank_with_one_batch_less_is_named_with_what_to_do(how: str, word: str) -> None:
    output = fail(how)
    assert f"waits for rank 1, which {word}" in output
    assert "Give every rank as many batches (DistributedSampler)" in output


def test_ranks_in_different_collectives_are_told_of_each_other() -> None:
    output = fail("goes to a barrier")
    words = ("here, but rank 1 called barrier()", "here, but rank 0 called all_reduce(")
    assert any(each in output for each in words), output  # of that which ends first
    assert "same collectives in the same order" in output


def test_groups_may_be_left_and_made_again() -> None:
    ended = mpiexec(2, str(CHECKS / "fleeting.py"))
    # Processes that print at one time may do so into one line.
    assert (ended.status, ended.output.replace("\n", "")) == (0, "donedone")
