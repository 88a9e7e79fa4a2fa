"""Distributions, with their arguments validated, inside of `vmap` give what a loop gives, and what
PyTorch gives where it takes the call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import dovetail

pytestmark = pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning")

CHANCES = np.array([0.3, 0.6, 0.9])
SCALES = np.array([0.5, 1.5, 2.5])
ROWS = np.array([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8], [0.4, 0.4, 0.2]])

Density = Callable[[Any, Any, Any], Any]
"""Takes the library, its distributions and the parameters of one sample."""


def spread(lib: Any, row: Any) -> Any:
    return lib.eye(3, dtype=lib.float64) + row[:, None] * row


SCALAR: dict[str, Density] = {
    "Cauchy": lambda lib, d, p: d.Cauchy(p, p).log_prob(p),
    "Chi2": lambda lib, d, p: d.Chi2(p).log_prob(p),
    "Exponential": lambda lib, d, p: d.Exponential(p).log_prob(p),
    "FisherSnedecor": lambda lib, d, p: d.FisherSnedecor(p, p).log_prob(p),
    "Gamma": lambda lib, d, p: d.Gamma(p, p).log_prob(p),
    "GeneralizedPareto": lambda lib, d, p: d.GeneralizedPareto(0.0, p, p).log_prob(p),
    "Gumbel": lambda lib, d, p: d.Gumbel(p, p).log_prob(p),
    "HalfCauchy": lambda lib, d, p: d.HalfCauchy(p).log_prob(p),
    "HalfNormal": lambda lib, d, p: d.HalfNormal(p).log_prob(p),
    "InverseGamma": lambda lib, d, p: d.InverseGamma(p, p).log_prob(p),
    "Kumaraswamy": lambda lib, d, p: d.Kumaraswamy(p, p).log_prob(p / 3),
    "LKJCholesky": lambda lib, d, p: d.LKJCholesky(3, p).log_prob(lib.eye(3)),
    "Laplace": lambda lib, d, p: d.Laplace(p, p).log_prob(p),
    "LogNormal": lambda lib, d, p: d.LogNormal(p, p).log_prob(p),
    "Normal": lambda lib, d, p: d.Normal(p, p).log_prob(p),
    "Normal, cdf": lambda lib, d, p: d.Normal(p, p).cdf(p + 1),
    "Normal, divergence": lambda lib, d, p: d.kl_divergence(d.Normal(p, p), d.Normal(0.0, p)),
    "Pareto": lambda lib, d, p: d.Pareto(p, p).log_prob(p + 1),
    "StudentT": lambda lib, d, p: d.StudentT(p).log_prob(p),
    "transformed": lambda lib, d, p: d.TransformedDistribution(
        d.Normal(p, p), [d.ExpTransform(), d.AffineTransform(1.0, p)]
    ).log_prob(p + 2),
    "Uniform": lambda lib, d, p: d.Uniform(p, p + 1).log_prob(p + 0.5),
    "VonMises": lambda lib, d, p: d.VonMises(p, p).log_prob(p),
    "Weibull": lambda lib, d, p: d.Weibull(p, p).log_prob(p),
    "Wishart": lambda lib, d, p: d.Wishart(
        p + 3, lib.eye(3, dtype=lib.float64)
    ).log_prob(lib.eye(3, dtype=lib.float64)),
}  # fmt: skip

CHANCE: dict[str, Density] = {
    "Bernoulli": lambda lib, d, p: d.Bernoulli(p).log_prob(p * 0 + 1),
    "Beta": lambda lib, d, p: d.Beta(p, p + 1).log_prob(p),
    "Binomial": lambda lib, d, p: d.Binomial(3, p).log_prob(p * 0 + 2),
    "ContinuousBernoulli": lambda lib, d, p: d.ContinuousBernoulli(p).log_prob(p),
    "Geometric": lambda lib, d, p: d.Geometric(p).log_prob(p * 0 + 2),
    "NegativeBinomial": lambda lib, d, p: d.NegativeBinomial(3, p).log_prob(p * 0 + 2),
    "Poisson": lambda lib, d, p: d.Poisson(p).log_prob(p * 0 + 2),
    "RelaxedBernoulli": lambda lib, d, p: d.RelaxedBernoulli(p, p).log_prob(p / 2),
}

VECTOR: dict[str, Density] = {
    "Categorical": lambda lib, d, p: d.Categorical(p).log_prob(lib.tensor(1)),
    "Categorical of logits": lambda lib, d, p: d.Categorical(logits=p).log_prob(lib.tensor(2)),
    "Categorical, entropy": lambda lib, d, p: d.Categorical(p).entropy(),
    "Dirichlet": lambda lib, d, p: d.Dirichlet(p).log_prob(p),
    "Independent": lambda lib, d, p: d.Independent(d.Normal(p, p), 1).log_prob(p),
    "LogisticNormal": lambda lib, d, p: d.LogisticNormal(p, p).log_prob(
        lib.full((4,), 0.25, dtype=lib.float64)
    ),
    "LowRank": lambda lib, d, p: d.LowRankMultivariateNormal(p, p[:, None], p).log_prob(p + 1),
    "MixtureSameFamily": lambda lib, d, p: d.MixtureSameFamily(
        d.Categorical(p), d.Normal(p, p)
    ).log_prob(lib.tensor(0.3, dtype=lib.float64)),
    "Multinomial": lambda lib, d, p: d.Multinomial(3, p).log_prob(p * 0 + 1),
    "normal of covariances": lambda lib, d, p: d.MultivariateNormal(p, spread(lib, p)).log_prob(
        p + 1
    ),
    "normal of precisions": lambda lib, d, p: d.MultivariateNormal(
        p, precision_matrix=spread(lib, p)
    ).log_prob(p + 1),
    "normal of triangles": lambda lib, d, p: d.MultivariateNormal(
        p, scale_tril=lib.diag(p)
    ).log_prob(p + 1),
    "OneHotCategorical": lambda lib, d, p: d.OneHotCategorical(p).log_prob(
        lib.tensor([0.0, 1.0, 0.0], dtype=lib.float64)
    ),
    "RelaxedOneHotCategorical": lambda lib, d, p: d.RelaxedOneHotCategorical(
        lib.tensor(0.5, dtype=lib.float64), p
    ).log_prob(p),
}

CASES = [
    pytest.param(density, values, id=name)
    for densities, values in ((SCALAR, SCALES), (CHANCE, CHANCES), (VECTOR, ROWS))
    for name, density in densities.items()
]


def mapped(lib: Any, density: Density, values: Any) -> Any:
    return lib.func.vmap(lambda p: density(lib, lib.distributions, p))(lib.tensor(values))


@pytest.mark.parametrize(("density", "values"), CASES)
def test_vmap_gives_what_a_loop_gives(density: Density, values: Any) -> None:
    found = mapped(dovetail, density, values)
    for result, row in zip(found, values, strict=True):
        expected = density(dovetail, dovetail.distributions, dovetail.tensor(row))
        np.testing.assert_allclose(result.cpu(), expected.cpu(), rtol=1e-9)


@pytest.mark.parametrize(("density", "values"), CASES)
def test_vmap_gives_what_that_of_pytorch_gives(density: Density, values: Any) -> None:
    try:
        expected = mapped(torch, density, values)
    except RuntimeError as error:
        # PyTorch cannot; the loop above says what is right.
        assert "vmap" in str(error) or "did not match" in str(error)
        return
    np.testing.assert_allclose(mapped(dovetail, density, values).cpu(), expected, rtol=1e-6)


@pytest.mark.parametrize(("density", "values"), CASES)
def test_gradients_in_vmap_are_those_of_a_loop(density: Density, values: Any) -> None:
    def gradient(row: Any) -> Any:
        return dovetail.func.grad(lambda p: density(dovetail, dovetail.distributions, p).sum())(row)

    found = dovetail.func.vmap(gradient)(dovetail.tensor(values))
    for result, row in zip(found, values, strict=True):
        np.testing.assert_allclose(
            result.cpu(), gradient(dovetail.tensor(row)).cpu(), rtol=1e-7, atol=1e-12
        )


def test_a_parameter_that_is_invalid_in_one_sample_is_refused_and_shown() -> None:
    def density(scale: Any) -> Any:
        return dovetail.distributions.Normal(0.0, scale).log_prob(dovetail.tensor(1.0))

    with pytest.raises(ValueError, match=r"parameter scale.*\n.*-1"):
        dovetail.func.vmap(density)(dovetail.tensor([1.0, -1.0]))
    with pytest.raises(ValueError, match=r"parameter scale.*\n.*-1"):
        dovetail.func.vmap(dovetail.func.grad(density))(dovetail.tensor([1.0, -1.0]))
    with pytest.raises(ValueError, match=r"parameter scale"):
        dovetail.func.vmap(dovetail.func.vmap(density))(dovetail.tensor([[1.0], [-1.0]]))


def test_a_value_outside_of_the_support_in_one_sample_is_refused_and_shown() -> None:
    fair = dovetail.distributions.Bernoulli(0.5)
    with pytest.raises(ValueError, match=r"within the support.*\n.*2"):
        dovetail.func.vmap(fair.log_prob)(dovetail.tensor([1.0, 2.0]))
