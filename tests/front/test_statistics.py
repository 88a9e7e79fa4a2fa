"""Statistics as users call them."""

from __future__ import annotations

import pytest

import dovetail


@pytest.mark.parametrize("median", [dovetail.median, dovetail.nanmedian])
def test_the_median_of_no_integers_is_refused(median: object) -> None:
    empty = dovetail.empty(0, dtype=dovetail.int64)
    with pytest.raises(RuntimeError, match="there is no median of no integers"):
        median(empty)  # type: ignore[operator]


def test_nonzero_gives_one_tensor_for_each_dimension_on_demand() -> None:
    x = dovetail.tensor([[0.0, 2.0], [3.0, 0.0]])
    rows, columns = x.nonzero(as_tuple=True)
    assert (rows.tolist(), columns.tolist()) == ([0, 1], [1, 0])
    assert x[rows, columns].tolist() == [2, 3]
    assert dovetail.nonzero(dovetail.tensor(3.0), as_tuple=True)[0].tolist() == [0]
    with pytest.raises(RuntimeError, match="does not support the out kwarg when as_tuple is True"):
        dovetail.nonzero(x, as_tuple=True, out=dovetail.empty(0, dtype=dovetail.int64))


def test_the_mode_counts_every_nan_as_an_element_of_its_own() -> None:
    nan = float("nan")
    assert dovetail.tensor([nan, nan, nan, 1.0, 1.0]).mode().values.item() == 1
    assert dovetail.tensor([nan, 3.0, nan]).mode().values.item() == 3


def test_logcumsumexp_has_a_gradient_far_from_zero() -> None:
    """The factors of its sums never exceed 1, so that nothing overflows."""
    x = dovetail.tensor([0.0, 1000.0, 0.0], requires_grad=True)
    x.logcumsumexp(0).backward(dovetail.tensor([1.0, 0.0, 2.0]))
    assert x.grad is not None
    assert x.grad.tolist() == [1.0, 2.0, 0.0]
