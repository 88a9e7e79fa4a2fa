"""The normal distribution of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor

from .. import linalg
from ..functions.tensor_functions import broadcast_shapes
from . import constraints
from .distribution import Distribution
from .utils import _standard_normal, attribute, lazy_property, validated

__all__ = ["MultivariateNormal"]

_LOG_TWO_PI = 1.8378770664093453


def _batch_mv(matrix: Tensor, vector: Tensor) -> Tensor:
    """Return the product of matrices and vectors, which broadcast."""
    return aten.matmul(matrix, vector.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(factor: Tensor, vector: Tensor) -> Tensor:
    """Return squared lengths of vectors in terms of the covariance whose Cholesky factor is
    given.
    """
    solved = linalg.solve_triangular(factor, vector.unsqueeze(-1), upper=False)
    return solved.squeeze(-1).pow(2).sum(-1)


def _precision_to_scale_tril(precision: Tensor) -> Tensor:
    """Return the Cholesky factor of the inverse."""
    # Turned upside down, the factor of the precision is that of an upper triangle.
    flipped = linalg.cholesky(aten.flip(precision, (-2, -1)))
    upper = aten.flip(flipped, (-2, -1)).mT
    eye = aten.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return linalg.solve_triangular(upper, eye, upper=False)


def diagonal_log(factor: Tensor) -> Tensor:
    """Return the sums of the logarithms of diagonals."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


class CovarianceMatrix(Distribution):
    """Base class of distributions with a covariance matrix, its inverse or its Cholesky factor."""

    _unbroadcasted_scale_tril: Tensor

    @staticmethod
    def _only(error: type[Exception], **given: Any) -> tuple[str, Any]:
        """Return the one matrix that is given to a constructor, with its name."""
        found = [(name, matrix) for name, matrix in given.items() if matrix is not None]
        if len(found) != 1:
            raise error(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be "
                "specified."
            )
        return found[0]

    def _set_factor(self, name: str, matrix: Tensor) -> None:
        """Compute the factor of the matrix that the constructor was given as `name`."""
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = linalg.cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(matrix)

    def _expanded(self, matrix: Tensor) -> Tensor:
        return matrix.expand((*self._batch_shape, *matrix.shape[-2:]))

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return self._expanded(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        factor = self._unbroadcasted_scale_tril
        return self._expanded(aten.matmul(factor, factor.mT))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        return self._expanded(aten.cholesky_inverse(self._unbroadcasted_scale_tril))


class MultivariateNormal(CovarianceMatrix):
    """Multivariate normal distribution with mean `loc` and a covariance matrix, its inverse or its
    Cholesky factor.
    """

    arg_constraints = {  # noqa: RUF012
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True
    mean = mode = attribute("loc")

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = self._only(
            ValueError,
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )
        if matrix.dim() < 2:
            noun = " matrix" if name == "scale_tril" else ""
            raise ValueError(
                f"{name}{noun} must be at least two-dimensional, with optional leading batch "
                "dimensions"
            )
        shape = broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand((*shape, -1, -1)))
        self.loc = loc.expand((*shape, -1))
        super().__init__(shape, self.loc.shape[-1:], validate_args=validate_args)
        self._set_factor(name, matrix)

    def _expand_into(self, new: object, batch_shape: Sequence[int]) -> None:
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril

    @property
    def variance(self) -> Tensor:
        """The diagonal of the covariance."""
        found = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return found.expand((*self._batch_shape, *self._event_shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Return the mean plus the factor times standard normal vectors."""
        shape = self._extended_shape(sample_shape)
        eps = _standard_normal(shape, self.loc.dtype, self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, eps)

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        factor = self._unbroadcasted_scale_tril
        square = _batch_mahalanobis(factor, value - self.loc)
        count = self._event_shape[0]
        return -0.5 * (count * _LOG_TWO_PI + square) - diagonal_log(factor)

    def entropy(self) -> Tensor:
        found = 0.5 * self._event_shape[0] * (1.0 + _LOG_TWO_PI) + diagonal_log(
            self._unbroadcasted_scale_tril
        )
        return found.expand(self._batch_shape)
