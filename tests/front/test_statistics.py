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


def test_unique_returns_as_much_as_is_asked_for() -> None:
    x = dovetail.tensor([[3, 1], [3, 3]])
    assert x.unique().tolist() == [1, 3]
    values, counts = dovetail.unique(x, return_counts=True)
    assert (values.tolist(), counts.tolist()) == ([1, 3], [1, 3])
    values, inverse, counts = dovetail.unique(x, return_inverse=True, return_counts=True, dim=1)
    assert (values.tolist(), inverse.tolist()) == ([[1, 3], [3, 3]], [1, 0])
    assert x.unique_consecutive(return_inverse=True)[1].tolist() == [[0, 1], [2, 2]]


def test_unravel_index_gives_places_that_index() -> None:
    x = dovetail.arange(12).reshape(3, 4)
    numbers = dovetail.tensor([[5, 11], [0, 7]])
    assert dovetail.equal(x[dovetail.unravel_index(numbers, (3, 4))], numbers)
    assert dovetail.unravel_index(dovetail.tensor(5), 7)[0].item() == 5
    assert dovetail.unravel_index(dovetail.tensor([0]), ()) == ()
    with pytest.raises(TypeError, match="expected 'indices' to be integer dtype"):
        dovetail.unravel_index(dovetail.ones(2), (3, 4))
    with pytest.raises(ValueError, match="'shape' cannot have negative values"):
        dovetail.unravel_index(numbers, (3, -4))


def test_bins_are_searched_row_by_row_like_one_by_one() -> None:
    """A stable order of both rows finds what a binary search finds."""
    dovetail.manual_seed(0)
    edges = dovetail.randint(0, 6, (4, 7)).sort(-1).values
    values = dovetail.randint(-1, 7, (4, 9))
    for right in (False, True):
        found = dovetail.searchsorted(edges, values, right=right)
        for row in range(4):
            alone = dovetail.searchsorted(edges[row], values[row], right=right)
            assert found[row].tolist() == alone.tolist()
