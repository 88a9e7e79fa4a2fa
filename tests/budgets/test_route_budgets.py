"""What routes may do, in numbers: the steps of a plan, and the calls in its text."""

from __future__ import annotations

import pytest
from route_budgets import FILE, present, problems, read, written

pytestmark = pytest.mark.cpu_only(reason="the budgets are of routes to cpu kernels")


def test_no_route_does_more_than_it_may() -> None:
    found = problems(read(FILE.read_text("utf-8")), present())
    assert not found, "\n".join(found)


@pytest.mark.parametrize("more", [(3, 4), (2, 5)])
def test_a_route_that_does_more_is_reported(more: tuple[int, int]) -> None:
    assert "of 2 and 4" in problems({"add(f, e)": (2, 4)}, {"add(f, e)": more})[0]
    assert not problems({"add(f, e)": more}, {"add(f, e)": (2, 4)})


def test_a_route_that_is_gone_or_new_is_reported() -> None:
    found = "\n".join(problems({"add(f, e)": (2, 4)}, {"mul(f, e)": (2, 4)}))
    assert "add(f, e): the call has no such route any more" in found
    assert "mul(f, e): the route has no budget yet" in found


def test_budgets_are_read_as_they_were_written() -> None:
    budgets = {"cat((f, e), 1) | plain": (2, 4), "add.Tensor(f, e) | trace #2": (3, 13)}
    assert read(written(budgets)) == budgets
