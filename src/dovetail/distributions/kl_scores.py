"""Divergences from expectations: ``-p.entropy()`` minus the mean of ``q.log_prob(x)`` over p. For
many q, this is a sum of the means of x, x², log x or an exponential.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, pi
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor

from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .continuous_bernoulli import ContinuousBernoulli
from .exponential import Exponential
from .gamma import Gamma
from .gumbel import Gumbel
from .kl_registry import register_kl
from .laplace import Laplace
from .normal import Normal
from .pareto import Pareto
from .poisson import Poisson
from .uniform import Uniform
from .utils import euler_constant

_LOG_TWO_PI = 1.8378770664093453


# -- means over p ----------------------------------------------------------------------------------


def _mean_log(p: object) -> Tensor:
    """Return the mean logarithm."""
    if isinstance(p, Beta):
        total = p.concentration1 + p.concentration0
        return p.concentration1.digamma() - total.digamma()
    if isinstance(p, Exponential):
        return -euler_constant - p.rate.log()
    if isinstance(p, Gamma):
        return p.concentration.digamma() - p.rate.log()
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    return _mean_log_between(p.low, p.high)


def _mean_log_between(low: Tensor, high: Tensor) -> Tensor:
    return (aten.xlogy(high, high) - aten.xlogy(low, low)) / (high - low) - 1


def _mean_exp(p: object, rate: Tensor) -> Tensor:
    """Return the mean of ``exp(-rate * x)``."""
    if isinstance(p, Exponential):
        return p.rate / (p.rate + rate)
    if isinstance(p, Gamma):
        return (p.rate / (p.rate + rate)).pow(p.concentration)
    if isinstance(p, Gumbel):
        return (-rate * p.loc + (1 + rate * p.scale).lgamma()).exp()
    if isinstance(p, Normal):
        return (-rate * p.loc + 0.5 * (rate * p.scale) ** 2).exp()
    length = rate * (p.high - p.low)
    return (-rate * p.low).exp() * -aten.expm1(-length) / length


def _mean_distance(p: object, loc: Tensor) -> Tensor:
    """Return the mean of ``|x - loc|`` of normal x."""
    offset = p.loc - loc
    z = offset / p.scale
    spread = p.scale * (2 / pi) ** 0.5 * (-0.5 * z**2).exp()
    return spread + offset * aten.erf(z * 2**-0.5)


# -- means of q.log_prob ---------------------------------------------------------------------------


def _exponential(p: object, q: Exponential) -> Tensor:
    return q.rate.log() - q.rate * p.mean


def _gamma(p: object, q: Gamma) -> Tensor:
    normalizer = q.concentration * q.rate.log() - q.concentration.lgamma()
    return normalizer + (q.concentration - 1) * _mean_log(p) - q.rate * p.mean


def _normal(p: object, q: Normal) -> Tensor:
    square = p.variance + (p.mean - q.loc) ** 2
    return -0.5 * (_LOG_TWO_PI + square / q.scale**2) - q.scale.log()


def _gumbel(p: object, q: Gumbel) -> Tensor:
    z = (p.mean - q.loc) / q.scale
    return -q.scale.log() - z - (q.loc / q.scale).exp() * _mean_exp(p, 1 / q.scale)


def _laplace(p: object, q: Laplace) -> Tensor:
    return -(2 * q.scale).log() - _mean_distance(p, q.loc) / q.scale


def _continuous_bernoulli(p: object, q: ContinuousBernoulli) -> Tensor:
    return p.mean * q.logits + (-q.probs).log1p() + q._cont_bern_log_norm()


def _beta(p: object, q: Beta) -> Tensor:
    a, b = q.concentration1, q.concentration0
    rest = _mean_log_between(1 - p.high, 1 - p.low)
    return (a - 1) * _mean_log(p) + (b - 1) * rest + (a + b).lgamma() - a.lgamma() - b.lgamma()


def _pareto(p: object, q: Pareto) -> Tensor:
    return q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * _mean_log(p)


def _uniform(p: object, q: Uniform) -> Tensor:
    return -(q.high - q.low).log()


def _poisson(p: object, q: Poisson) -> Tensor:
    return aten.xlogy(p.mean, q.rate) - q.rate


# -- pairs -----------------------------------------------------------------------------------------

Score = Callable[[Any, Any], Tensor]
Outside = Callable[[Any, Any], Any]


def _register(type_p: type, type_q: type, score: Score, outside: Outside | None = None) -> None:
    """Register a divergence; `outside` says where p has values, or mass, that q has not."""

    @register_kl(type_p, type_q)
    def divergence(p: Any, q: Any) -> Tensor:
        found = -p.entropy() - score(p, q)
        return found if outside is None else found.masked_fill(outside(p, q), inf)


def _unit_outside(p: object, q: Uniform) -> Tensor:
    return (q.high < 1) | (q.low > 0)


_register(Bernoulli, Poisson, _poisson)
_register(Beta, ContinuousBernoulli, _continuous_bernoulli)
_register(Beta, Exponential, _exponential)
_register(Beta, Gamma, _gamma)
_register(Beta, Normal, _normal)
_register(Beta, Uniform, _uniform, _unit_outside)
_register(ContinuousBernoulli, Exponential, _exponential)
_register(ContinuousBernoulli, Normal, _normal)
_register(ContinuousBernoulli, Uniform, _uniform, _unit_outside)
_register(Exponential, Gamma, _gamma)
_register(Exponential, Gumbel, _gumbel)
_register(Exponential, Normal, _normal)
_register(Gamma, Exponential, _exponential)
_register(Gamma, Gumbel, _gumbel)
_register(Gamma, Normal, _normal)
_register(Gumbel, Gumbel, _gumbel)
_register(Gumbel, Normal, _normal)
_register(Laplace, Normal, _normal)
_register(Normal, Gumbel, _gumbel)
_register(Normal, Laplace, _laplace)
_register(Pareto, Exponential, _exponential, lambda p, q: p.alpha <= 1)
_register(Pareto, Gamma, _gamma, lambda p, q: p.alpha <= 1)
_register(Pareto, Normal, _normal, lambda p, q: p.alpha <= 2)
_register(Uniform, Beta, _beta, lambda p, q: (p.low < 0) | (p.high > 1))
_register(
    Uniform, ContinuousBernoulli, _continuous_bernoulli, lambda p, q: (p.low < 0) | (p.high > 1)
)
_register(Uniform, Exponential, _exponential, lambda p, q: p.low < 0)
_register(Uniform, Gamma, _gamma, lambda p, q: p.low < 0)
_register(Uniform, Gumbel, _gumbel)
_register(Uniform, Normal, _normal)
_register(Uniform, Pareto, _pareto, lambda p, q: p.low < q.scale)
_register(Uniform, Uniform, _uniform, lambda p, q: (q.low > p.low) | (q.high < p.high))


def _infinite(p: object, q: object) -> Tensor:
    """Return infinity: q excludes values that p has."""
    return aten.full_like(p.entropy(), inf)


_HALVES: tuple[type, ...] = (Pareto, Gamma, Exponential, ContinuousBernoulli, Beta)
_EXCLUDING: dict[type, tuple[type, ...]] = {
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Exponential: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gamma: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gumbel: (*_HALVES, Uniform),
    Laplace: (*_HALVES, Uniform),
    Normal: (*_HALVES, Uniform),
    Pareto: (Beta, ContinuousBernoulli, Uniform),
}
for _p, _others in _EXCLUDING.items():
    for _q in _others:
        register_kl(_p, _q)(_infinite)


@register_kl(Poisson, Bernoulli)
@register_kl(Poisson, Binomial)
def _infinite_counts(p: Poisson, q: Binomial) -> Tensor:
    """Return infinity: there is no bound of Poisson numbers."""
    return aten.full_like(p.rate, inf)
