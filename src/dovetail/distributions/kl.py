"""Kullback-Leibler divergences: `kl_divergence`, and the formulas within one family."""

from __future__ import annotations

from math import inf
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_autograd import grad

from .. import linalg
from ..functions.tensor_functions import broadcast_shapes
from ..nn.functional import softplus
from . import kl_scores  # noqa: F401 - it registers the divergences of other pairs
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .half_normal import HalfNormal
from .independent import Independent
from .kl_registry import _KL_REGISTRY, kl_divergence, register_kl  # noqa: F401 - PyTorch's place
from .laplace import Laplace
from .lowrank_multivariate_normal import LowRankMultivariateNormal, _lowrank_logdet
from .multivariate_normal import MultivariateNormal, _batch_mahalanobis, diagonal_log
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .utils import _sum_rightmost, holds_everywhere

__all__ = ["kl_divergence", "register_kl"]


@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    yes = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    yes = yes.masked_fill(q.probs == 0, inf).masked_fill(p.probs == 0, 0)
    no = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    no = no.masked_fill(q.probs == 1, inf).masked_fill(p.probs == 1, 0)
    return yes + no


@register_kl(Beta, Beta)
def _kl_beta_beta(p: Beta, q: Beta) -> Tensor:
    return _kl_dirichlet_dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Binomial, Binomial)
def _kl_binomial_binomial(p: Binomial, q: Binomial) -> Tensor:
    if not holds_everywhere(~(p.total_count < q.total_count)):
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    no = (-p.probs).log1p() - (-q.probs).log1p()
    found = p.total_count * (p.probs * (p.logits - q.logits) + no)
    return found.masked_fill(p.total_count > q.total_count, inf)


@register_kl(Categorical, Categorical)
def _kl_categorical_categorical(p: Categorical, q: Categorical) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    terms = terms.masked_fill((q.probs == 0).expand_as(terms), inf)
    return terms.masked_fill((p.probs == 0).expand_as(terms), 0).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _kl_onehotcategorical_onehotcategorical(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _kl_categorical_categorical(p._categorical, q._categorical)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _kl_continuous_bernoulli_continuous_bernoulli(
    p: ContinuousBernoulli, q: ContinuousBernoulli
) -> Tensor:
    own = p.mean * (p.logits - q.logits)
    norms = p._cont_bern_log_norm() - q._cont_bern_log_norm()
    return own + norms + aten.log1p(-p.probs) - aten.log1p(-q.probs)


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    own, other = p.concentration, q.concentration
    total = own.sum(-1)
    norms = total.lgamma() - other.sum(-1).lgamma() - (own.lgamma() - other.lgamma()).sum(-1)
    slopes = own.digamma() - total.digamma().unsqueeze(-1)
    return norms + ((own - other) * slopes).sum(-1)


@register_kl(Exponential, Exponential)
def _kl_exponential_exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    """Return the Bregman divergence of the log normalizer, of two distributions of one class."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed "
            "using Bregman divergences"
        )
    own = [each.detach().requires_grad_() for each in p._natural_params]
    normalizer = p._log_normalizer(*own)
    slopes: Any = grad(normalizer.sum(), own, create_graph=True)
    found = q._log_normalizer(*q._natural_params) - normalizer
    for mine, other, slope in zip(own, q._natural_params, slopes, strict=True):
        term = (other - mine) * slope
        found = found - _sum_rightmost(term, len(q.event_shape))
    return found


@register_kl(Gamma, Gamma)
def _kl_gamma_gamma(p: Gamma, q: Gamma) -> Tensor:
    rates = q.concentration * (p.rate / q.rate).log()
    norms = aten.lgamma(q.concentration) - aten.lgamma(p.concentration)
    slopes = (p.concentration - q.concentration) * aten.digamma(p.concentration)
    return rates + norms + slopes + (q.rate - p.rate) * (p.concentration / p.rate)


@register_kl(Geometric, Geometric)
def _kl_geometric_geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - aten.log1p(-q.probs) / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _kl_halfnormal_halfnormal(p: HalfNormal, q: HalfNormal) -> Tensor:
    return _kl_normal_normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _kl_laplace_laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio = p.scale / q.scale
    distance = (p.loc - q.loc).abs()
    spread = ratio * aten.exp(-distance / p.scale)
    return -ratio.log() + distance / q.scale + spread - 1


@register_kl(Normal, Normal)
def _kl_normal_normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Pareto, Pareto)
def _kl_pareto_pareto(p: Pareto, q: Pareto) -> Tensor:
    scales, shapes = p.scale / q.scale, q.alpha / p.alpha
    found = q.alpha * scales.log() - shapes.log() + shapes - 1
    return found.masked_fill(p.support.lower_bound < q.support.lower_bound, inf)


@register_kl(Poisson, Poisson)
def _kl_poisson_poisson(p: Poisson, q: Poisson) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Cauchy, Cauchy)
def _kl_cauchy_cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    """Return ``log((s + t)**2 + d**2) / (4 s t)`` (Chyzak and Nielsen 2019, arXiv:1905.10965)."""
    square = (p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)
    return square.log() - (4 * p.scale * q.scale).log()


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed_transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError(
            "KL divergence is only implemented for equal transforms and event shapes. Transform "
            "one of the distributions."
        )
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _kl_independent_independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError(
            "KL divergence is only implemented for equal event dimensions. Take as many of both."
        )
    found = kl_divergence(p.base_dist, q.base_dist)
    return _sum_rightmost(found, p.reinterpreted_batch_ndims)


# -- normal vectors --------------------------------------------------------------------------------


def _log_det(p: object) -> Tensor:
    if isinstance(p, LowRankMultivariateNormal):
        return _lowrank_logdet(p._unbroadcasted_cov_diag, p._capacitance_tril)
    return 2 * diagonal_log(p._unbroadcasted_scale_tril)


@register_kl(MultivariateNormal, MultivariateNormal)
@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _kl_of_normal_vectors(p: LowRankMultivariateNormal, q: MultivariateNormal) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError(
            f"KL-divergence between two {type(p).__name__}s with different event shapes cannot be "
            "computed"
        )
    own, other = p.scale_tril, q.scale_tril
    shape = broadcast_shapes(own.shape, other.shape)
    solved = linalg.solve_triangular(other.expand(shape), own.expand(shape), upper=False)
    trace = solved.pow(2).sum((-2, -1))
    distance = _batch_mahalanobis(other, q.loc - p.loc)
    return 0.5 * (_log_det(q) - _log_det(p) + trace + distance - p.event_shape[0])
