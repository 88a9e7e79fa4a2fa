"""Distributions with parameters of both libraries: `EXAMPLES[name](lib)` makes one, in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Make = Callable[[Any], Any]


class Parameters:
    """Parameters drawn from a seed, as tensors of a library that may require gradients."""

    def __init__(self, lib: Any, seed: int, requires_grad: bool = False) -> None:
        self.lib, self.requires_grad = lib, requires_grad
        self._source = np.random.default_rng(seed)
        self.made: list[Any] = []

    def _tensor(self, values: Any) -> Any:
        made = self.lib.tensor(values.tolist(), dtype=self.lib.float64)
        made.requires_grad_(self.requires_grad)
        self.made.append(made)
        return made

    def real(self, *shape: int) -> Any:
        return self._tensor(self._source.standard_normal(shape or (3,)))

    def positive(self, *shape: int) -> Any:
        return self._tensor(self._source.uniform(0.5, 3.0, shape or (3,)))

    def chance(self, *shape: int) -> Any:
        return self._tensor(self._source.uniform(0.1, 0.9, shape or (3,)))

    def shares(self, *shape: int) -> Any:
        values = self._source.uniform(0.2, 1.0, shape or (2, 4))
        return self._tensor(values / values.sum(-1, keepdims=True))

    def definite(self, n: int = 3) -> Any:
        square = self._source.standard_normal((n, n))
        return self._tensor(square @ square.T + n * np.eye(n))

    def factor(self, n: int = 3) -> Any:
        square = self._source.standard_normal((n, n))
        return self._tensor(np.linalg.cholesky(square @ square.T + n * np.eye(n)))


def _mixture(d: Any, p: Parameters) -> Any:
    return d.MixtureSameFamily(
        d.Categorical(probs=p.shares()), d.Normal(p.real(2, 4), p.positive(2, 4))
    )


def _mixture_of_vectors(d: Any, p: Parameters) -> Any:
    return d.MixtureSameFamily(
        d.Categorical(logits=p.real(4)), d.Independent(d.Normal(p.real(4, 2), p.positive(4, 2)), 1)
    )


def _affine(d: Any, p: Parameters) -> Any:
    transforms = [d.AffineTransform(p.real(3), -p.positive(3)), d.TanhTransform()]
    return d.TransformedDistribution(d.Normal(p.real(3), p.positive(3)), transforms)


_MADE: dict[str, Callable[[Any, Parameters], Any]] = {
    "Bernoulli": lambda d, p: d.Bernoulli(p.chance()),
    "Bernoulli by logits": lambda d, p: d.Bernoulli(logits=p.real()),
    "Beta": lambda d, p: d.Beta(p.positive(), p.positive()),
    "Binomial": lambda d, p: d.Binomial(5, p.chance()),
    "Binomial by logits": lambda d, p: d.Binomial(12, logits=p.real()),
    "Categorical": lambda d, p: d.Categorical(p.shares()),
    "Categorical by logits": lambda d, p: d.Categorical(logits=p.real(2, 4)),
    "Cauchy": lambda d, p: d.Cauchy(p.real(), p.positive()),
    "Chi2": lambda d, p: d.Chi2(p.positive()),
    "ContinuousBernoulli": lambda d, p: d.ContinuousBernoulli(p.chance()),
    "ContinuousBernoulli by logits": lambda d, p: d.ContinuousBernoulli(logits=p.real()),
    "Dirichlet": lambda d, p: d.Dirichlet(p.positive(2, 3)),
    "Exponential": lambda d, p: d.Exponential(p.positive()),
    "FisherSnedecor": lambda d, p: d.FisherSnedecor(p.positive(), p.positive() + 4),
    "Gamma": lambda d, p: d.Gamma(p.positive(), p.positive()),
    "GeneralizedPareto": lambda d, p: d.GeneralizedPareto(p.real(), p.positive(), p.real() / 4),
    "Geometric": lambda d, p: d.Geometric(p.chance()),
    "Geometric by logits": lambda d, p: d.Geometric(logits=p.real()),
    "Gumbel": lambda d, p: d.Gumbel(p.real(), p.positive()),
    "HalfCauchy": lambda d, p: d.HalfCauchy(p.positive()),
    "HalfNormal": lambda d, p: d.HalfNormal(p.positive()),
    "Independent": lambda d, p: d.Independent(d.Normal(p.real(2, 3), p.positive(2, 3)), 1),
    "InverseGamma": lambda d, p: d.InverseGamma(p.positive() + 2, p.positive()),
    "Kumaraswamy": lambda d, p: d.Kumaraswamy(p.positive() + 1, p.positive() + 1),
    "LKJCholesky": lambda d, p: d.LKJCholesky(3, p.positive()),
    "Laplace": lambda d, p: d.Laplace(p.real(), p.positive()),
    "LogNormal": lambda d, p: d.LogNormal(p.real(), p.positive()),
    "LogisticNormal": lambda d, p: d.LogisticNormal(p.real(2, 3), p.positive(2, 3)),
    "LowRankMultivariateNormal": lambda d, p: d.LowRankMultivariateNormal(
        p.real(3), p.real(3, 2), p.positive(3)
    ),
    "MixtureSameFamily": _mixture,
    "a mixture of vectors": _mixture_of_vectors,
    "Multinomial": lambda d, p: d.Multinomial(5, p.shares()),
    "Multinomial by logits": lambda d, p: d.Multinomial(5, logits=p.real(2, 3)),
    "MultivariateNormal": lambda d, p: d.MultivariateNormal(p.real(2, 3), p.definite()),
    "MultivariateNormal by precision": lambda d, p: d.MultivariateNormal(
        p.real(3), precision_matrix=p.definite()
    ),
    "MultivariateNormal by factor": lambda d, p: d.MultivariateNormal(
        p.real(3), scale_tril=p.factor()
    ),
    "NegativeBinomial": lambda d, p: d.NegativeBinomial(p.positive(), p.chance()),
    "NegativeBinomial by logits": lambda d, p: d.NegativeBinomial(3, logits=p.real()),
    "Normal": lambda d, p: d.Normal(p.real(), p.positive()),
    "OneHotCategorical": lambda d, p: d.OneHotCategorical(p.shares()),
    "OneHotCategoricalStraightThrough": lambda d, p: d.OneHotCategoricalStraightThrough(
        logits=p.real(2, 4)
    ),
    "Pareto": lambda d, p: d.Pareto(p.positive(), p.positive() + 2),
    "Poisson": lambda d, p: d.Poisson(p.positive()),
    "RelaxedBernoulli": lambda d, p: d.RelaxedBernoulli(p.positive(1), p.chance()),
    "RelaxedOneHotCategorical": lambda d, p: d.RelaxedOneHotCategorical(p.positive(1), p.shares()),
    "StudentT": lambda d, p: d.StudentT(p.positive() + 2, p.real(), p.positive()),
    "a transformed one": _affine,
    "Uniform": lambda d, p: d.Uniform(p.real() - 3, p.real() + 4),
    "VonMises": lambda d, p: d.VonMises(p.real(), p.positive()),
    "Weibull": lambda d, p: d.Weibull(p.positive(), p.positive() + 1),
    "Wishart": lambda d, p: d.Wishart(p.positive(2) + 4, p.definite()),
    "Wishart by factor": lambda d, p: d.Wishart(p.positive(2) + 4, scale_tril=p.factor()),
}


def _maker(build: Callable[[Any, Parameters], Any]) -> Make:
    return lambda lib, seed=0, **options: build(lib.distributions, Parameters(lib, seed, **options))


EXAMPLES: dict[str, Any] = {name: _maker(build) for name, build in _MADE.items()}
BUILDERS = _MADE
