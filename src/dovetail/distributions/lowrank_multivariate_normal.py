"""The normal distribution of vectors whose covariance has few columns, plus a diagonal."""

from __future__ import annotations

from collections.abc import Sequence

import dovetail_aten as aten
from dovetail_aten import Tensor

from .. import linalg
from ..functions.tensor_functions import broadcast_shapes
from . import constraints
from .distribution import Distribution
from .multivariate_normal import _batch_mahalanobis, _batch_mv, diagonal_log
from .utils import _standard_normal, attribute, lazy_property, validated

__all__ = ["LowRankMultivariateNormal"]

_LOG_TWO_PI = 1.8378770664093453


def _capacitance(factor: Tensor, diagonal: Tensor) -> Tensor:
    """Return the Cholesky factor of ``1 + W' D^-1 W``, whose inverse Woodbury's formula has."""
    weighted = factor.mT / diagonal.unsqueeze(-2)
    eye = aten.eye(factor.shape[-1], dtype=factor.dtype, device=factor.device)
    return linalg.cholesky(aten.matmul(weighted, factor) + eye)


def _lowrank_logdet(diagonal: Tensor, capacitance: Tensor) -> Tensor:
    """Return the logarithm of the determinant of the covariance."""
    return 2 * diagonal_log(capacitance) + diagonal.log().sum(-1)


def _lowrank_mahalanobis(
    factor: Tensor, diagonal: Tensor, vector: Tensor, capacitance: Tensor
) -> Tensor:
    """Return squared lengths of vectors in terms of the covariance."""
    weighted = factor.mT / diagonal.unsqueeze(-2)
    whole = (vector.pow(2) / diagonal).sum(-1)
    return whole - _batch_mahalanobis(capacitance, _batch_mv(weighted, vector))


class LowRankMultivariateNormal(Distribution):
    """Multivariate normal distribution with mean `loc` and covariance ``W W' + D``.

    Parameters
    ----------
    loc
        The mean.
    cov_factor
        W, with few columns.
    cov_diag
        The diagonal of D.
    """

    arg_constraints = {  # noqa: RUF012
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True
    mean = mode = attribute("loc")

    def __init__(
        self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError(
                "cov_factor must be at least two-dimensional, with optional leading batch "
                "dimensions"
            )
        if tuple(cov_factor.shape[-2:-1]) != tuple(shape):
            raise ValueError(f"cov_factor must be a batch of matrices with shape {shape[0]} x m")
        if tuple(cov_diag.shape[-1:]) != tuple(shape):
            raise ValueError(f"cov_diag must be a batch of vectors with shape {shape}")
        batch = broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        self.loc = loc.expand((*batch, -1))
        self.cov_factor = cov_factor.expand((*batch, -1, -1))
        self.cov_diag = cov_diag.expand((*batch, -1))
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        self._capacitance_tril = _capacitance(cov_factor, cov_diag)
        super().__init__(batch, shape, validate_args=validate_args)

    def _expand_into(self, new: object, batch_shape: Sequence[int]) -> None:
        for name in ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril"):
            setattr(new, name, getattr(self, name))

    def _expanded(self, found: Tensor, dims: int) -> Tensor:
        return found.expand((*self._batch_shape, *self._event_shape * dims))

    @lazy_property
    def variance(self) -> Tensor:
        """The diagonal of the covariance."""
        found = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return self._expanded(found, 1)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        # D^(1/2) (1 + V V') D^(1/2), where 1 + V V' is well conditioned
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        eye = aten.eye(self._event_shape[0], dtype=scaled.dtype, device=scaled.device)
        return self._expanded(root * linalg.cholesky(aten.matmul(scaled, scaled.mT) + eye), 2)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        factor = self._unbroadcasted_cov_factor
        found = aten.matmul(factor, factor.mT) + aten.diag_embed(self._unbroadcasted_cov_diag)
        return self._expanded(found, 2)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance, by Woodbury's formula."""
        inverse = self._unbroadcasted_cov_diag.reciprocal()
        weighted = self._unbroadcasted_cov_factor.mT * inverse.unsqueeze(-2)
        solved = linalg.solve_triangular(self._capacitance_tril, weighted, upper=False)
        return self._expanded(aten.diag_embed(inverse) - aten.matmul(solved.mT, solved), 2)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        columns = (*shape[:-1], self.cov_factor.shape[-1])
        within = _standard_normal(columns, self.loc.dtype, self.loc.device)
        beside = _standard_normal(shape, self.loc.dtype, self.loc.device)
        return (
            self.loc
            + _batch_mv(self._unbroadcasted_cov_factor, within)
            + self._unbroadcasted_cov_diag.sqrt() * beside
        )

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        diagonal = self._unbroadcasted_cov_diag
        square = _lowrank_mahalanobis(
            self._unbroadcasted_cov_factor, diagonal, value - self.loc, self._capacitance_tril
        )
        log_det = _lowrank_logdet(diagonal, self._capacitance_tril)
        return -0.5 * (self._event_shape[0] * _LOG_TWO_PI + log_det + square)

    def entropy(self) -> Tensor:
        log_det = _lowrank_logdet(self._unbroadcasted_cov_diag, self._capacitance_tril)
        found = 0.5 * (self._event_shape[0] * (1.0 + _LOG_TWO_PI) + log_det)
        return found.expand(self._batch_shape)
