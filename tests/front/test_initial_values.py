"""``nn.init``: distributions and structure of what is drawn."""

import pytest

import dovetail
from dovetail.nn import init


@pytest.fixture(autouse=True)
def _seeded():
    dovetail.manual_seed(0)


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (4, 4), (2, 3, 4)])
def test_rows_or_columns_of_an_orthogonal_weight_are_orthogonal(shape):
    weight = init.orthogonal_(dovetail.empty(shape, dtype=dovetail.float64), gain=2.0)
    matrix = weight.reshape(shape[0], -1)
    small = matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix
    assert dovetail.allclose(small, 4 * dovetail.eye(small.shape[0], dtype=dovetail.float64))


@pytest.mark.parametrize(
    ("mean", "std", "a", "b"), [(0, 1, -2, 2), (0, 1, 0.5, 0.6), (1, 2, -30, 2), (3, 0.1, 2.9, 9)]
)
def test_truncated_values_follow_the_distribution_between_the_limits(mean, std, a, b):
    drawn = init.trunc_normal_(dovetail.empty(20000, dtype=dovetail.float64), mean, std, a, b)
    assert a <= drawn.min() and drawn.max() <= b
    # The distribution function, scaled to the limits, makes uniform numbers of the draws.
    low, high, at = (
        dovetail.special.ndtr((dovetail.as_tensor(x, dtype=dovetail.float64) - mean) / std)
        for x in (a, b, drawn)
    )
    uniform = (at - low) / (high - low)
    assert abs(uniform.mean() - 0.5) < 0.01
    assert abs(uniform.var() - 1 / 12) < 0.003


def test_a_dirac_weight_passes_channels_unchanged():
    x = dovetail.randn(1, 4, 7)
    weight = init.dirac_(dovetail.empty(4, 2, 3), groups=2)
    y = dovetail.nn.functional.conv1d(x, weight, padding=1, groups=2)
    assert dovetail.equal(x, y)


@pytest.mark.cpu_only(reason="a generator is one of the cpu")
def test_a_generator_makes_draws_repeatable():
    for name in ("uniform_", "normal_", "trunc_normal_", "orthogonal_", "kaiming_normal_"):
        one, two = (
            getattr(init, name)(dovetail.empty(3, 3), generator=dovetail.Generator().manual_seed(5))
            for _ in range(2)
        )
        assert dovetail.equal(one, two), name


def test_names_of_old_warn():
    with pytest.warns(FutureWarning, match=r"`nn.init.normal` is now deprecated in favor of"):
        init.normal(dovetail.empty(3))


def test_values_are_set_without_a_graph():
    weight = dovetail.nn.Parameter(dovetail.empty(3, 3))
    for name in ("eye_", "orthogonal_", "trunc_normal_"):
        assert getattr(init, name)(weight) is weight
        assert weight.grad_fn is None


def test_groups_that_do_not_divide_are_refused():
    with pytest.raises(ValueError, match="must be divisible by groups, but 4 is not by 0"):
        init.dirac_(dovetail.empty(4, 2, 3), groups=0)
