"""The Wishart distribution."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_kernel import Size, finfo, is_grad_enabled, warn_user

from .. import linalg
from ..functions.tensor_functions import broadcast_shapes
from . import constraints
from .chi2 import Chi2
from .exp_family import ExponentialFamily
from .multivariate_normal import CovarianceMatrix, diagonal_log
from .utils import holds_everywhere, validated

__all__ = ["Wishart"]

_LOG_TWO = 0.6931471805599453


def _mvdigamma(x: Tensor, p: int) -> Tensor:
    """Return the derivative of the logarithm of the multivariate gamma function."""
    steps = aten.arange(p, dtype=x.dtype, device=x.device)
    return aten.digamma(x.unsqueeze(-1) - steps.div(2)).sum(-1)


class Wishart(CovarianceMatrix, ExponentialFamily):
    """Wishart distribution: sums of `df` products ``x x'`` of normal vectors x with a covariance
    matrix, its inverse or its Cholesky factor.
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    @property
    def arg_constraints(self) -> dict[str, Any]:
        """Constraints of the parameters: `df` is greater than the number of dimensions minus 1."""
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def __init__(
        self,
        df: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        name, matrix = self._only(
            AssertionError,
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )
        if matrix.dim() < 2:
            raise ValueError(
                "scale_tril must be at least two-dimensional, with optional leading batch "
                "dimensions"
            )
        if not isinstance(df, Tensor):
            df = aten.tensor(float(df), dtype=matrix.dtype, device=matrix.device)
        shape, events = broadcast_shapes(df.shape, matrix.shape[:-2]), matrix.shape[-2:]
        self.df = df.expand(shape)
        setattr(self, name, matrix.expand((*shape, -1, -1)))
        if not holds_everywhere(~self.df.le(events[-1] - 1)):
            raise ValueError(
                f"Value of df={df} expected to be greater than ndim - 1 = {events[-1] - 1}."
            )
        super().__init__(shape, events, validate_args=validate_args)
        if not holds_everywhere(~self.df.lt(events[-1])):
            warn_user(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 "
                "< df < ndim."
            )
        self._set_factor(name, matrix)
        self._dist_chi2 = self._squares()

    def _squares(self) -> Chi2:
        """Return the distributions of the squared diagonal of Bartlett's decomposition."""
        steps = aten.arange(self._event_shape[-1], dtype=self.df.dtype, device=self.df.device)
        return Chi2(self.df.unsqueeze(-1) - steps.expand((*self._batch_shape, -1)))

    def expand(self, batch_shape: Sequence[int], _instance: object = None) -> Any:
        new = self._get_checked_instance(Wishart, _instance)
        shape = (*batch_shape, *self._event_shape)
        new.df = self.df.expand(batch_shape)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril.expand(shape)
        for name in ("covariance_matrix", "scale_tril", "precision_matrix"):
            if name in self.__dict__:
                new.__dict__[name] = self.__dict__[name].expand(shape)
        ExponentialFamily.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._dist_chi2 = new._squares()
        new._validate_args = self._validate_args
        return new

    @property
    def mean(self) -> Tensor:
        """``df * covariance_matrix``."""
        return self.df.view((*self._batch_shape, 1, 1)) * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        """``(df - n - 1) * covariance_matrix``, NaN where it is not positive-definite."""
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        factor = factor.masked_fill(factor <= 0, nan)
        return factor.view((*self._batch_shape, 1, 1)) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        """The variances of the elements."""
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        products = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self.df.view((*self._batch_shape, 1, 1)) * (v.pow(2) + products)

    def _bartlett_sampling(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples by their Cholesky factors (Bartlett 1933)."""
        p = self._event_shape[-1]
        tiny = finfo(self._dist_chi2.df.dtype).tiny
        noise = self._dist_chi2.rsample(sample_shape).sqrt().clamp(min=tiny).diag_embed()
        rows, columns = aten.tril_indices(p, p, offset=-1)
        below = aten.randn(
            (*sample_shape, *self._batch_shape, p * (p - 1) // 2),
            dtype=noise.dtype,
            device=noise.device,
        )
        noise[..., rows, columns] = below
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def rsample(self, sample_shape: Sequence[int] = (), max_try_correction: Any = None) -> Tensor:
        """Return samples; samples that are singular due to rounding are redrawn a few times."""
        if max_try_correction is None:
            max_try_correction = 3 if is_grad_enabled() else 10
        sample_shape = Size(sample_shape)
        drawn = self._bartlett_sampling(sample_shape)
        singular = ~self.support.check(drawn)
        if singular.any():
            warn_user("Singular sample detected.")
            for _ in range(max_try_correction):
                anew = self._bartlett_sampling(sample_shape)
                drawn = aten.where(singular[..., None, None], anew, drawn)
                singular = ~self.support.check(drawn)
                if not singular.any():
                    break
        return drawn

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        nu, p, factor = self.df, self._event_shape[-1], self._unbroadcasted_scale_tril
        solved = aten.cholesky_solve(value, factor)
        return (
            -nu * (p * _LOG_TWO / 2 + diagonal_log(factor))
            - aten.mvlgamma(nu / 2, p)
            + (nu - p - 1) / 2 * linalg.slogdet(value).logabsdet
            - solved.diagonal(dim1=-2, dim2=-1).sum(dim=-1) / 2
        )

    def entropy(self) -> Tensor:
        nu, p = self.df, self._event_shape[-1]
        return (
            (p + 1) * (p * _LOG_TWO / 2 + diagonal_log(self._unbroadcasted_scale_tril))
            + aten.mvlgamma(nu / 2, p)
            - (nu - p - 1) / 2 * _mvdigamma(nu / 2, p)
            + nu * p / 2
        )

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        p = self._event_shape[-1]
        half = y + (p + 1) / 2
        return half * (-linalg.slogdet(-2 * x).logabsdet + _LOG_TWO * p) + aten.mvlgamma(half, p)
