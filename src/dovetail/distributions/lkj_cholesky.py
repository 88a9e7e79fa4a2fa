"""The LKJ distribution of Cholesky factors of correlation matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_autograd import no_grad
from dovetail_kernel import finfo

from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import validated

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """LKJ distribution of Cholesky factors of correlation matrices, with density proportional to
    the determinant to the power of ``concentration - 1`` (Lewandowski, Kurowicka and Joe 2009,
    doi:10.1016/j.jmva.2009.04.008).

    Parameters
    ----------
    dim
        Number of rows of the matrices.
    concentration
        1 gives a uniform distribution; larger values favour matrices near the identity. Default: 1.
    """

    arg_constraints = {"concentration": constraints.positive}  # noqa: RUF012
    support = constraints.corr_cholesky

    def __init__(
        self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        if dim < 2:
            raise ValueError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}."
            )
        self.dim = dim
        if not isinstance(concentration, Tensor):
            concentration = aten.tensor(float(concentration))
        self.concentration = concentration
        # Squared lengths of the rows left of the diagonal, by the method of the onion.
        marginal = concentration + 0.5 * (dim - 2)
        options: Any = {"dtype": concentration.dtype, "device": concentration.device}
        offset = aten.arange(dim - 1, **options)
        offset = aten.cat([offset.new_zeros((1,)), offset])
        self._beta = Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset)
        super().__init__(concentration.shape, (dim, dim), validate_args)

    def _expand_into(self, new: object, batch_shape: Sequence[int]) -> None:
        new.dim = self.dim
        new._beta = self._beta.expand((*batch_shape, self.dim))

    @no_grad()
    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples: rows in random directions, of random lengths."""
        squares = self._beta.sample(sample_shape).unsqueeze(-1)
        shape = self._extended_shape(sample_shape)
        normal = aten.randn(shape, dtype=squares.dtype, device=squares.device).tril(-1)
        directions = normal / normal.norm(dim=-1, keepdim=True)
        directions[..., 0, :].fill_(0.0)
        made = aten.sqrt(squares) * directions
        left = aten.clamp(1 - aten.sum(made**2, dim=-1), min=finfo(made.dtype).tiny)
        return made + aten.diag_embed(left.sqrt())

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = aten.arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        unnormalized = aten.sum(order * diagonal.log(), dim=-1)
        count = self.dim - 1
        alpha = self.concentration + 0.5 * count
        normalizer = (
            0.5 * count * 1.1447298858494002
            + aten.mvlgamma(alpha - 0.5, count)
            - aten.lgamma(alpha) * count
        )
        return unnormalized - normalizer
