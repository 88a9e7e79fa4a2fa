"""The half-Cauchy distribution."""

from __future__ import annotations

from math import inf

import dovetail_aten as aten
from dovetail_aten import Tensor

from . import constraints
from .cauchy import Cauchy
from .symmetric_halves import LOG_2, SymmetricHalf
from .transforms import AbsTransform
from .utils import attribute, validated

__all__ = ["HalfCauchy"]


class HalfCauchy(SymmetricHalf):
    """Half-Cauchy distribution with half width `scale`."""

    arg_constraints = {"scale": constraints.positive}  # noqa: RUF012
    support = constraints.nonnegative
    has_rsample = True
    variance: Tensor = attribute("base_dist.variance", "Infinity.")

    def __init__(self, scale: object, validate_args: bool | None = None) -> None:
        super().__init__(
            Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args
        )

    @property
    def mean(self) -> Tensor:
        """Infinity."""
        return aten.full(
            self._extended_shape(), inf, dtype=self.scale.dtype, device=self.scale.device
        )

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        value = aten.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device)
        found = self.base_dist.log_prob(value) + LOG_2
        return aten.where(value >= 0, found, -inf)
