"""Distributions agree with SciPy's, and samples have the gradients that differences say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats as stats
from distribution_examples import BUILDERS, Parameters

import dovetail
from dovetail import distributions

TWINS: dict[str, Any] = {
    "Beta": lambda d: stats.beta(n(d.concentration1), n(d.concentration0)),
    "Cauchy": lambda d: stats.cauchy(n(d.loc), n(d.scale)),
    "Chi2": lambda d: stats.chi2(n(d.df)),
    "Exponential": lambda d: stats.expon(scale=1 / n(d.rate)),
    "FisherSnedecor": lambda d: stats.f(n(d.df1), n(d.df2)),
    "Gamma": lambda d: stats.gamma(n(d.concentration), scale=1 / n(d.rate)),
    "GeneralizedPareto": lambda d: stats.genpareto(n(d.concentration), n(d.loc), n(d.scale)),
    "Gumbel": lambda d: stats.gumbel_r(n(d.loc), n(d.scale)),
    "HalfCauchy": lambda d: stats.halfcauchy(scale=n(d.scale)),
    "HalfNormal": lambda d: stats.halfnorm(scale=n(d.scale)),
    "InverseGamma": lambda d: stats.invgamma(n(d.concentration), scale=n(d.rate)),
    "Laplace": lambda d: stats.laplace(n(d.loc), n(d.scale)),
    "LogNormal": lambda d: stats.lognorm(s=n(d.scale), scale=np.exp(n(d.loc))),
    "Normal": lambda d: stats.norm(n(d.loc), n(d.scale)),
    "Pareto": lambda d: stats.pareto(n(d.alpha), scale=n(d.scale)),
    "StudentT": lambda d: stats.t(n(d.df), n(d.loc), n(d.scale)),
    "Uniform": lambda d: stats.uniform(n(d.low), n(d.high) - n(d.low)),
    "VonMises": lambda d: stats.vonmises(n(d.concentration), n(d.loc)),
    "Weibull": lambda d: stats.weibull_min(n(d.concentration), scale=n(d.scale)),
}
COUNTS: dict[str, Any] = {
    "Bernoulli": lambda d: stats.bernoulli(n(d.probs)),
    "Binomial": lambda d: stats.binom(n(d.total_count), n(d.probs)),
    "Geometric": lambda d: stats.geom(n(d.probs), loc=-1),
    "NegativeBinomial": lambda d: stats.nbinom(n(d.total_count), 1 - n(d.probs)),
    "Poisson": lambda d: stats.poisson(n(d.rate)),
}
ABSENT = (NotImplementedError,)


def n(x: Any) -> Any:
    return x.detach().cpu().numpy()


def example(name: str, seed: int = 5) -> Any:
    dovetail.manual_seed(seed)
    return BUILDERS[name](distributions, Parameters(dovetail, seed))


def check(wanted: Any, act: Any) -> None:
    """Compare, unless PyTorch's class does not say this either."""
    try:
        found = n(act())
    except ABSENT:
        return
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", TWINS)
def test_a_continuous_distribution_is_scipys(name: str) -> None:
    own = example(name)
    twin, drawn = TWINS[name](own), own.sample((4,))
    check(twin.logpdf(n(drawn)), lambda: own.log_prob(drawn))
    if name != "VonMises":  # means of angles are circular
        check(twin.cdf(n(drawn)), lambda: own.cdf(drawn))
        check(twin.ppf(0.3), lambda: own.icdf(dovetail.full((3,), 0.3, dtype=dovetail.float64)))
        if name not in ("Cauchy", "HalfCauchy"):
            check(twin.mean(), lambda: own.mean)
            check(twin.var(), lambda: own.variance)
    check(twin.entropy(), own.entropy)


@pytest.mark.parametrize("name", COUNTS)
def test_a_discrete_distribution_is_scipys(name: str) -> None:
    own = example(name)
    twin, drawn = COUNTS[name](own), own.sample((4,))
    check(twin.logpmf(n(drawn)), lambda: own.log_prob(drawn))
    check(twin.mean(), lambda: own.mean)
    check(twin.var(), lambda: own.variance)


def test_the_mode_of_kumaraswamy_is_where_the_density_is_greatest() -> None:
    own = example("Kumaraswamy")
    grid = dovetail.linspace(0.001, 0.999, 999, dtype=dovetail.float64).unsqueeze(-1)
    found = grid[own.log_prob(grid).argmax(0)].squeeze(-1)
    np.testing.assert_allclose(n(own.mode), n(found), atol=2e-3)


def test_samples_of_wishart_have_its_mean() -> None:
    own = example("Wishart")
    mean = n(own.sample((4000,)).mean(0))
    assert np.abs(mean - n(own.mean)).max() < 6 * np.sqrt(n(own.variance).max() / 4000)


JUMPING = (
    "Beta", "Chi2", "Dirichlet", "FisherSnedecor", "Gamma", "InverseGamma", "StudentT", "Wishart",
    "Wishart by factor",
)  # fmt: skip
"""Of gamma numbers, which are proposed and rejected: another parameter may take another proposal.
The samples of `_standard_gamma_grad` compare their gradients with SciPy's quantiles.
"""
with dovetail.device("cpu"):  # where values are computed, also with strict kernels for CUDA
    DIFFERENTIABLE = [
        name
        for name in BUILDERS
        # The gradients of the straight-through ones are those of something else, on purpose.
        if example(name).has_rsample and name not in (*JUMPING, "OneHotCategoricalStraightThrough")
    ]


class Given:
    """Gives parameters in the order in which they are asked for; matrices stay what they are to
    be.
    """

    def __init__(self, values: Any) -> None:
        self._values = iter(values)

    def __getattr__(self, name: str) -> Any:
        def give(*shape: int) -> Any:
            value = next(self._values)
            if name == "definite":
                return (value + value.mT) / 2
            return value.tril() if name == "factor" else value

        return give


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_samples_have_the_gradients_of_differences(name: str) -> None:
    parameters = Parameters(dovetail, 2, requires_grad=True)
    BUILDERS[name](distributions, parameters)

    def drawn(*given: Any) -> Any:
        dovetail.manual_seed(11)
        return BUILDERS[name](distributions, Given(given)).rsample((2,))

    assert dovetail.autograd.gradcheck(drawn, parameters.made, atol=1e-4, rtol=1e-3)
