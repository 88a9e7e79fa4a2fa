"""The Dirichlet distribution."""

from __future__ import annotations

from collections.abc import Sequence

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_dispatcher import ops

from ..nn.functional import one_hot
from . import constraints
from .exp_family import ExponentialFamily
from .utils import validated

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    """Dirichlet distribution with the parameters `concentration` along its last dimension."""

    arg_constraints = {  # noqa: RUF012
        "concentration": constraints.independent(constraints.positive, 1)
    }
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        shape = concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The parameters divided by their sum."""
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        """The most probable values."""
        above = (self.concentration - 1).clamp(min=0.0)
        found = above / above.sum(-1, True)
        corner = (self.concentration < 1).all(dim=-1)
        last = one_hot(found.argmax(dim=-1), self.concentration.shape[-1])
        return aten.where(corner.unsqueeze(-1), last.to(found), found)

    @property
    def variance(self) -> Tensor:
        """The variances."""
        total = self.concentration.sum(-1, True)
        rest = total - self.concentration
        return self.concentration * rest / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        weights = self.concentration.expand(self._extended_shape(sample_shape))
        return ops.aten._sample_dirichlet(weights)

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        weights = self.concentration
        return (
            aten.xlogy(weights - 1.0, value).sum(-1)
            + aten.lgamma(weights.sum(-1))
            - aten.lgamma(weights).sum(-1)
        )

    def entropy(self) -> Tensor:
        weights, count = self.concentration, self.concentration.size(-1)
        total = weights.sum(-1)
        return (
            aten.lgamma(weights).sum(-1)
            - aten.lgamma(total)
            - (count - total) * aten.digamma(total)
            - ((weights - 1.0) * aten.digamma(weights)).sum(-1)
        )

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.concentration,)

    def _log_normalizer(self, x: object) -> Tensor:
        return x.lgamma().sum(-1) - aten.lgamma(x.sum(-1))
