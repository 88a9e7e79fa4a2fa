"""`dovetail.masked`: what is masked takes no part, and has no gradient."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail
from dovetail import masked

X = np.array([[3.0, -1.0, 2.0, 5.0], [0.5, 4.0, -2.0, 1.0], [7.0, 8.0, 9.0, 6.0]])
MASK = np.array([[True, False, True, True], [False, True, True, False], [False] * 4])
MA = np.ma.array(X, mask=~MASK)
SHOWN = slice(0, 2)


def both() -> tuple[dovetail.Tensor, dovetail.Tensor]:
    return dovetail.from_numpy(X.copy()).to(dovetail.get_default_device()), dovetail.from_numpy(
        MASK.copy()
    ).to(dovetail.get_default_device())


@pytest.mark.parametrize("name", ["sum", "prod", "mean"])
@pytest.mark.parametrize("dim", [1, 0, None, (0, 1)])
def test_a_reduction_is_that_of_the_elements_that_are_not_masked(name, dim):
    x, mask = both()
    expected = getattr(MA, name)(dim)
    found = getattr(masked, name)(x, dim, mask=mask).cpu().numpy()
    shown = ~np.ma.getmaskarray(expected)
    np.testing.assert_allclose(found[shown], np.ma.getdata(expected)[shown])


@pytest.mark.parametrize(
    ("name", "nothing"), [("sum", 0), ("prod", 1), ("amax", -np.inf), ("amin", np.inf)]
)
def test_where_everything_is_masked_the_result_is_the_neutral_element(name, nothing):
    x, mask = both()
    assert getattr(masked, name)(x, 1, mask=mask)[2].item() == nothing


@pytest.mark.parametrize("name", ["mean", "var", "std", "median"])
def test_where_everything_is_masked_a_mean_is_nan(name):
    x, mask = both()
    assert np.isnan(getattr(masked, name)(x, 1, mask=mask)[2].item())


def test_extremes_and_their_places_are_found_among_what_is_not_masked():
    x, mask = both()
    rows = slice(0, 2)
    assert masked.amax(x, 1, mask=mask)[rows].tolist() == [5, 4]
    assert masked.amin(x, 1, mask=mask)[rows].tolist() == [2, -2]
    assert masked.argmax(x, 1, mask=mask)[rows].tolist() == [3, 1]
    assert masked.argmin(x, 1, mask=mask)[rows].tolist() == [2, 2]


@pytest.mark.parametrize("correction", [0, 1])
def test_variances_count_what_is_not_masked(correction):
    x, mask = both()
    found = masked.var(x, 1, correction=correction, mask=mask)[SHOWN].cpu().numpy()
    np.testing.assert_allclose(found, MA.var(1, ddof=correction)[SHOWN])
    spread = masked.std(x, 1, correction == 1, mask=mask)[SHOWN].cpu().numpy()
    np.testing.assert_allclose(spread, MA.std(1, ddof=correction)[SHOWN])


def test_a_softmax_gives_nothing_to_what_is_masked():
    x, mask = both()
    found = masked.softmax(x, 1, mask=mask)[SHOWN].cpu().numpy()
    powers = np.where(MASK, np.exp(X), 0)[SHOWN]
    np.testing.assert_allclose(found, powers / powers.sum(1, keepdims=True))
    least = masked.softmin(x, 1, mask=mask)[SHOWN].cpu().numpy()
    powers = np.where(MASK, np.exp(-X), 0)[SHOWN]
    np.testing.assert_allclose(least, powers / powers.sum(1, keepdims=True))


def test_scans_pass_over_what_is_masked():
    x, mask = both()
    found = masked.cumsum(x, 1, mask=mask).cpu().numpy()
    np.testing.assert_allclose(found, np.where(MASK, X, 0).cumsum(1))
    found = masked.cumprod(x, 1, mask=mask).cpu().numpy()
    np.testing.assert_allclose(found, np.where(MASK, X, 1).cumprod(1))


@pytest.mark.parametrize("order", [2.0, 1.0, np.inf, -np.inf, -1.0])
def test_norms_are_those_of_what_is_not_masked(order):
    x, mask = both()
    found = masked.norm(x, order, 1, mask=mask)[SHOWN].tolist()
    expected = [
        np.linalg.norm(row[shown], order) for row, shown in zip(X[:2], MASK[:2], strict=True)
    ]
    np.testing.assert_allclose(found, expected)
    lengths = masked.norm(masked.normalize(x, 2.0, 1, mask=mask), 2.0, 1, mask=mask)
    np.testing.assert_allclose(lengths[SHOWN].tolist(), 1)


def test_each_term_of_a_sum_of_exponentials_has_a_mask():
    x, mask = both()
    found = masked.logaddexp(x, x + 1, other_mask=mask).cpu().numpy()
    np.testing.assert_allclose(found, np.where(MASK, np.logaddexp(X, X + 1), X))
    sums = masked.logsumexp(x, 1, mask=mask)[SHOWN].cpu().numpy()
    np.testing.assert_allclose(sums, np.log(np.where(MASK, np.exp(X), 0)[SHOWN].sum(1)))


@pytest.mark.parametrize("name", ["sum", "mean", "var", "logsumexp", "amax", "norm"])
def test_what_is_masked_has_no_gradient(name):
    x, mask = both()
    x.requires_grad = True
    keywords = {"dim": 1, "mask": mask}
    getattr(masked, name)(x, **keywords)[SHOWN].sum().backward()
    gradient = x.grad.cpu().numpy()
    assert not gradient[~MASK].any()
    assert np.isfinite(gradient).all()
    assert gradient[MASK].any()


def test_a_mask_with_more_dimensions_is_refused():
    x, mask = both()
    with pytest.raises(IndexError, match="expected broadcastable mask"):
        masked.sum(x, 1, mask=mask.unsqueeze(0))


def test_integers_have_no_mean_without_a_dtype():
    x, mask = both()
    with pytest.raises(ValueError, match="Could not infer output dtype"):
        masked.mean(x.to(dovetail.int64), 1, mask=mask)
    found = masked.mean(x.to(dovetail.int64), 0, dtype=dovetail.float32)
    assert found.dtype is dovetail.float32


def test_functions_are_found_by_the_path_of_pytorchs_examples() -> None:
    from dovetail.masked._ops import amax

    assert dovetail.masked._ops.amax is amax is dovetail.masked.amax
    assert dovetail.nn.functional.grad is dovetail.nn.grad
